"""Title, summary and labels of a leaf, cut from its own text."""

import re
from collections.abc import Sequence
from itertools import takewhile

from workspaces.judging.addresses import without_calls
from workspaces.judging.cues_en import ENGLISH
from workspaces.judging.cues_zh import CHINESE
from workspaces.judging.placeholders import is_placeholder
from workspaces.judging.reading import cleaned, content_terms, flat, is_chinese, sentences
from workspaces.judging.stopwords import ENGLISH_STOPWORDS

TITLE_CHARACTERS = 80
SUMMARY_CHARACTERS = 300
MAX_LABELS = 5
MOST_OPENINGS = 4
OPENING_CHARACTERS = 120  # what only opens a turn is short
# A cut at a break is only worth it when most of the room is used.
MIN_CUT_SHARE = 0.5

# Parts of paths and host names are no words of their own.
_WORD = re.compile(
    r"(?<![\w./@:-])[a-zà-ÿ][a-zà-ÿ\d-]*[a-zà-ÿ\d](?![\w-]*[./@:]\w)(?![\w-])", re.IGNORECASE
)
_OWNED_ZH = re.compile(
    r"的([\u4e00-\u9fff]{2,6}?)(?=是|在|有|由|改|现|为|放|存|从|保|写|叫|都|[，。\s\d]|$)"
)


def title_of(text: str) -> str:
    """The first sentence that says something, at most 80 characters, cut between words."""
    first = flat(told_sentences(text)[0]).lstrip("#>*- ")
    return cut(first, limit=TITLE_CHARACTERS).rstrip(" .,;:。，；：、")


def summary_of(text: str) -> str:
    """The first one or two sentences that say something, at most 300 characters."""
    lines = [flat(line) for line in told_sentences(text)[:2]]
    return cut(joined(lines), limit=SUMMARY_CHARACTERS)


def told_sentences(text: str) -> list[str]:
    """Without the greetings, thanks and calls that open a turn; all of it when there is no more."""
    lines = sentences(text) or [text]
    openings = takewhile(_only_opens, lines[:MOST_OPENINGS])
    return lines[len(list(openings)) :] or lines


def _only_opens(line: str) -> bool:
    """ "Thanks, Mel!", "Wow, that's great!": less its opening and its call, hardly a word is left."""
    folded = cleaned(line)[:OPENING_CHARACTERS]
    if is_chinese(folded):
        rest = CHINESE.opening.sub("", folded)
    else:
        rest = ENGLISH.opening.sub("", without_calls(folded))
    return rest != folded and len(content_terms(rest)) <= 1


def joined(lines: Sequence[str]) -> str:
    """Sentences in a row; Chinese ones need no space between them."""
    return re.sub(r"(?<=[。！？；]) ", "", " ".join(lines))


def cut(text: str, *, limit: int) -> str:
    """At most `limit` characters, ended at a break and never inside a Latin word."""
    if len(text) <= limit:
        return text
    head = text[: limit + 1]
    breaks = [match.start() for match in re.finditer(r"[\s，。；、,;]", head)]
    if breaks and breaks[-1] >= limit * MIN_CUT_SHARE:
        return head[: breaks[-1]].rstrip(" ,;，；、")
    return text[:limit]


def labels_of(text: str, *, names: Sequence[str]) -> tuple[str, ...]:
    """At most five: names first, then what is stated about them, then longer words."""
    folded = flat(text)
    words = sorted(_WORD.findall(folded), key=len, reverse=True)
    found = [*names, *_OWNED_ZH.findall(folded), *words]
    kept = [label.casefold() for label in found if _is_telling(label)]
    return tuple(dict.fromkeys(kept))[:MAX_LABELS]


def _is_telling(label: str) -> bool:
    return (
        len(label) > 1 and label.casefold() not in ENGLISH_STOPWORDS and not is_placeholder(label)
    )
