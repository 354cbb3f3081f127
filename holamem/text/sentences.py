"""Sentence boundaries for Chinese, English and mixed text, as offsets into the original."""

import re
from collections.abc import Iterator

from holamem.text.blocks import Span, markdown_blocks, trimmed
from holamem.text.languages import HAN_RANGES

__all__ = ["Span", "split_sentences"]

# A full stop after these does not end a sentence. "etc." is absent on purpose: it ends one as
# often as not, and the rule for a small letter after it decides.
_ABBREVIATIONS = (
    "mr mrs ms dr prof st jr sr vs e.g i.e cf eds inc ltd corp dept approx est u.s u.k ph.d"
)
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
# These are also words ("No.", "He sat."), so they abbreviate only before a number.
_BEFORE_NUMBERS = (
    "no fig vol ed p pp ch sec art jan feb mar apr jun jul aug sep sept oct nov dec "
    "mon tue wed thu fri sat sun"
)
ABBREVIATIONS_BEFORE_NUMBERS = frozenset(_BEFORE_NUMBERS.split())
# Long enough for every abbreviation above, short enough to keep the scan linear.
LONGEST_ABBREVIATION = 12

_CLOSERS = "\"'”’」』）)】》\\]"
# Chinese stops end a sentence wherever they stand; Latin ones only before white space, a Han
# character or the end, so that decimals, versions, URLs and file names stay whole.
_STOP = re.compile(
    rf"[。！？；｡][。！？；｡!?]*[{_CLOSERS}]*"
    rf"|[!?]+[{_CLOSERS}]*(?=\s|$|[{HAN_RANGES}])"
    rf"|\.+[{_CLOSERS}]*(?=\s|$)"
    r"|[\r\n]+"
)
_WORD_BEFORE = re.compile(r"[A-Za-z][A-Za-z.]*$")
_LIST_NUMBER = re.compile(r"(?:^|[\r\n])[ \t]*\d{1,3}$")
_BLOCK_START = re.compile(r"[ \t]*(?:[-*+•·>|]|#{1,6}[ \t]|\d{1,3}[.)、]|[（(])")


def _small_letter_follows(text: str, position: int) -> bool:
    while position < len(text) and text[position] in " \t":
        position += 1
    return position < len(text) and text[position].islower()


def _is_abbreviation(word: str, following: str) -> bool:
    before_number = following.strip()[:1].isdecimal()
    return word in ABBREVIATIONS or (before_number and word in ABBREVIATIONS_BEFORE_NUMBERS)


def _full_stop_ends(text: str, stop: int, end: int) -> bool:
    """Whether the full stop at ``stop`` (closers up to ``end``) ends its sentence."""
    before = text[max(0, stop - LONGEST_ABBREVIATION) : stop]
    word = _WORD_BEFORE.search(before)
    if word and _is_abbreviation(word[0].lower(), text[end : end + 2]):
        return False
    # One capital is an initial ("J. Smith"); "I" is the pronoun.
    if word and len(word[0]) == 1 and word[0].isupper() and word[0] != "I":
        return False
    if _LIST_NUMBER.search(before) and text[end : end + 1] in (" ", "\t"):
        return False
    return not _small_letter_follows(text, end)


def _line_end_ends(text: str, start: int, end: int) -> bool:
    """A single line end before a small letter is a soft wrap; every other one ends a sentence."""
    breaks = text[start:end].replace("\r\n", "\n")
    if len(breaks) > 1 or _BLOCK_START.match(text, end):
        return True
    return not (end < len(text) and text[end].islower())


def _is_end(text: str, match: re.Match[str]) -> bool:
    start, end = match.span()
    if text[start] in "\r\n":
        return _line_end_ends(text, start, end)
    if text[start] == "." and end - start < 3:
        return _full_stop_ends(text, start, end)
    return text[start] != "." or not _small_letter_follows(text, end)


def _prose_sentences(text: str, start: int, end: int) -> Iterator[Span | None]:
    position = start
    for match in _STOP.finditer(text, start, end):
        if _is_end(text, match):
            yield trimmed(text, position, match.end())
            position = match.end()
    yield trimmed(text, position, end)


def split_sentences(text: str) -> list[Span]:
    """Sentences as spans in order, without overlap, covering all that is not white space.

    A code fence or a table is one span. A list item, a heading and a line that a soft wrap does
    not continue end where their line ends.
    """
    spans: list[Span | None] = []
    for block in markdown_blocks(text):
        if block.kind == "prose":
            spans.extend(_prose_sentences(text, block.start, block.end))
        else:
            spans.append(trimmed(text, block.start, block.end))
    return [span for span in spans if span is not None]
