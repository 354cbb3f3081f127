"""A tool's result as the pieces that say one thing each: clauses of prose, objects of data."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from holamem.text.sentences import split_sentences

MAX_OBJECTS = 2_000  # of one result
KEY_WORDS, VALUE_WORDS = 5, 8  # a line with more is prose with a colon in it

_LINE_PAIR = re.compile(
    r"(?:[-*•]\s+)?(?P<key>[^\W_][^:=：\n]{0,60}?)\s*(?:[:=]\s+|：\s*)(?P<value>\S.*)"
)
_HEADING = re.compile(r"#{1,6}\s+(?P<title>.+)|(?P<line>[^.。!?！？]{1,60})[:：]")
# A comma in a number or an address is none: white space follows the Latin ones.
_BOUNDARY = re.compile(
    r"[,;]\s+(?:and\s+|but\s+|while\s+)?|\s+(?:and|but|while)\s+|[，；、]\s*(?:并且|而且|但是|并|但|而)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Prose:
    """One sentence in its clauses. `before` is the sentence that it follows, or empty."""

    text: str
    clauses: tuple[str, ...]
    before: str = ""
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Data:
    """One object: (key, value), the names of what it lies in with an empty key."""

    pairs: tuple[tuple[str, str], ...]


Passage = Prose | Data


def passages_of(text: str) -> list[Passage]:
    """In the order of the text; what is JSON as a whole is read as such."""
    document = _document(text)
    found: Iterator[Passage] = _lines(text)
    if document is not None:
        found = islice(_objects(document, above=()), MAX_OBJECTS)
    return list(found)


def _document(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _objects(value: Any, *, above: tuple[tuple[str, str], ...]) -> Iterator[Data]:
    """An object knows the plain values of those around it, never its neighbours'."""
    if isinstance(value, list):
        for item in value:
            yield from _objects(item, above=above)
    elif isinstance(value, dict):
        own = tuple((str(key), plain) for key, item in value.items() if (plain := _plain(item)))
        yield Data((*above, *own))
        for key, item in value.items():
            if isinstance(item, dict | list) and not _plain(item):
                yield from _objects(item, above=(*above, *own, ("", str(key))))


def _plain(value: Any) -> str:
    """Empty for what holds objects. A truth is written as JSON writes it."""
    if isinstance(value, list):
        parts = [_plain(item) for item in value]
        return ", ".join(parts) if all(parts) else ""
    if isinstance(value, dict):
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _lines(text: str) -> Iterator[Passage]:
    pairs: list[tuple[str, str]] = []
    heading = before = ""
    for line in text.splitlines():
        pair = _pair(line)
        if pair is None or pair[0] in {key for key, _ in pairs} or line.lstrip()[:2] == "- ":
            yield from _closed(pairs, heading)
            pairs = []
        if pair is not None:
            pairs.append(pair)
            continue
        title = _HEADING.fullmatch(line.strip())
        if title is not None:
            heading, before = title["title"] or title["line"], ""
            continue
        for span in split_sentences(line):
            sentence = line[span.start : span.end].strip()
            yield Prose(sentence, clauses_of(sentence), before, heading)
            before = sentence
    yield from _closed(pairs, heading)


def _closed(pairs: list[tuple[str, str]], heading: str) -> Iterator[Data]:
    if pairs:
        yield Data((*([("", heading)] if heading else []), *pairs))


def _pair(line: str) -> tuple[str, str] | None:
    match = _LINE_PAIR.fullmatch(line.strip())
    if match is None or len(match["key"].split()) > KEY_WORDS:
        return None
    value = match["value"]
    is_prose = len(value.split()) > VALUE_WORDS or len(list(split_sentences(value))) > 1
    return None if is_prose else (match["key"], value)


def clauses_of(sentence: str) -> tuple[str, ...]:
    return tuple(part for part in _BOUNDARY.split(sentence) if part.strip())
