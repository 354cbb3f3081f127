"""Sentences of the product that hold a name or a number, in the person's language.

They are stored as they were said, in English. Each is known by its shape; what stands in it is
taken over. Sentences without such a part are translated as they are.
"""

import re

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from workspaces.dashboard.words import word_of

SHAPES: tuple[tuple[str, str | Promise], ...] = (
    (
        r"The model service refused the request \(status (?P<status>\d+)\)\.",
        _("The model service refused the request (status %(status)s)."),
    ),
    (
        r"The model service refused the key \(status (?P<status>\d+)\)\.",
        _("The model service refused the key (status %(status)s)."),
    ),
    (
        r"The model service answered with status (?P<status>\d+)\.",
        _("The model service answered with status %(status)s."),
    ),
    (
        r"The reply of the model service could not be used \((?P<kind>\w+)\)\.",
        _("The reply of the model service could not be used: %(kind)s."),
    ),
    (
        r"The model service (?P<name>\S+) has failed repeatedly; it is tried again soon\.",
        _("The model service %(name)s has failed repeatedly; it is tried again soon."),
    ),
    (
        r"(?P<kind_of_error>\w+) while running this job",
        _("%(kind_of_error)s while running this job"),
    ),
    (
        r"(?P<quota>\w+): the tenant's limit of (?P<limit>\S+) is reached\.",
        _("%(quota)s: the tenant's limit of %(limit)s is reached."),
    ),
)
# Sentences without such a part, which other modules say.
SENTENCES = (
    _("The model service could not be reached."),
    _("The model service did not answer in time."),
    _("The model service cut its answer off."),
    _("The request to the model service could not be encoded."),
    _("The worker stopped while it held this job."),
)
_SHAPES = [(re.compile(shape), words) for shape, words in SHAPES]
_CODED = {"kind": "reply", "quota": "quota"}  # parts that are codes with a word of their own


def spoken(text: str) -> str:
    """In the language of the page; what is no sentence of ours stays as it was said.

    A job's error begins with its code, which is left out where the rest says it.
    """
    code, _colon, rest = text.partition(": ")
    known = _known(text)
    if known is None and code.islower() and code.isidentifier():
        known = _known(rest)
    return text if known is None else known


def _known(text: str) -> str | None:
    for shape, words in _SHAPES:
        found = shape.fullmatch(text)
        if found is not None:
            return str(words) % {
                name: word_of(part, _CODED[name]) if name in _CODED else part
                for name, part in found.groupdict().items()
            }
    translated = gettext(text) if text else ""
    return translated if translated != text else None
