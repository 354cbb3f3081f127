"""What a model's summary must have in common with the text that it was given."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from holamem.text.languages import language_of
from workspaces.judging.base import ChildView

# Up to twelve a number may count the children or be a month that the child spells out.
MAX_FREE_NUMBER = 12
MIN_SHARE = 0.01  # of the characters of the children
SPARE_CHARACTERS = 200  # short children may need connecting words

_SEPARATED_THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")
_DIGITS = re.compile(r"\d+")


def numbers_of(text: str) -> set[str]:
    """Runs of digits in any width, without thousands separators and leading zeros."""
    plain = _SEPARATED_THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    return {digits.lstrip("0") or "0" for digits in _DIGITS.findall(plain)}


def has_its_numbers_from(text: str, children: Iterable[ChildView]) -> bool:
    """Whether every number of the text stands in a child or is part of a child's date."""
    known = {str(number) for number in range(MAX_FREE_NUMBER + 1)}
    for child in children:
        known |= numbers_of(f"{child.title} {child.text} {child.observed_at:%Y %m %d %H %M}")
    return numbers_of(text) <= known


def problem_with(text: str, children: Sequence[ChildView]) -> str | None:
    """Why this cannot be a summary of the children: wrong language, far too short or too long."""
    if language_of(text) not in {language_of(child.text) for child in children}:
        return "The summary is not in the language of its children."
    source_characters = sum(len(child.text) for child in children)
    if len(text) < source_characters * MIN_SHARE:
        return "The summary is too short for what it stands for."
    if len(text) > source_characters + SPARE_CHARACTERS:
        return "The summary is longer than what it stands for."
    return None
