"""What a tool repeats of its arguments: the model's own words, which no execution has shown.

A name, an address or a value that was asked about is no sentence, and stays.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holamem.text.sentences import split_sentences

SENTENCE_WEIGHT = 4  # fewer words in a row are a name, an address or a value
HAN_WEIGHT = 0.5  # of one Chinese character among words
REPEATED_SHARE = 0.8  # of a sentence's words, in whatever order

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_TOKEN = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+")

Token = tuple[str, int, int]


def without_echo(text: str, arguments: Mapping[str, Any]) -> str:
    """The text itself where it repeats nothing; "" when nothing else is in it."""
    given = [
        tokens
        for value in _strings(arguments)
        if _weight(tokens := _tokens(value)) >= SENTENCE_WEIGHT
    ]
    if not given:
        return text
    spans: list[tuple[int, int]] = []
    for tokens in given:
        said = [word for word, _, _ in tokens]
        spans += _runs(text, said=said)
        if not _is_json(text):
            spans += _sentences(text, said=frozenset(said))
    kept = _without(text, spans=spans)
    return kept if _tokens(kept) else ""


def _without(text: str, *, spans: Sequence[tuple[int, int]]) -> str:
    parts, position = [], 0
    for start, end in sorted(spans):
        parts.append(text[position : max(position, start)])
        position = max(position, end)
    return "".join([*parts, text[position:]])


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        yield from _strings(item)


def _tokens(text: str) -> list[Token]:
    return [(m.group().casefold(), m.start(), m.end()) for m in _TOKEN.finditer(text)]


def _weight(tokens: Sequence[Token]) -> float:
    return sum(HAN_WEIGHT if re.match(f"[{_HAN}]", word) else 1 for word, _, _ in tokens)


def _runs(text: str, *, said: Sequence[str]) -> Iterable[tuple[int, int]]:
    """Each stretch that stands in `said` word for word, however it is written."""
    tokens = _tokens(text)
    starts: dict[str, list[int]] = {}
    for place, word in enumerate(said):
        starts.setdefault(word, []).append(place)
    at = 0
    while at < len(tokens):
        places = starts.get(tokens[at][0], ())
        length = max((_common(tokens, at, said, start) for start in places), default=0)
        is_run = _weight(tokens[at : at + length]) >= SENTENCE_WEIGHT
        if is_run:
            yield tokens[at][1], tokens[at + length - 1][2]
        at += length if is_run else 1


def _common(tokens: Sequence[Token], at: int, said: Sequence[str], start: int) -> int:
    length = 0
    while (
        at + length < len(tokens)
        and start + length < len(said)
        and tokens[at + length][0] == said[start + length]
    ):
        length += 1
    return length


def _sentences(text: str, *, said: frozenset[str]) -> Iterable[tuple[int, int]]:
    """Those that turn the same words about."""
    for span in split_sentences(text):
        if _repeats(text[span.start : span.end], said=said):
            yield span.start, span.end


def _repeats(sentence: str, *, said: frozenset[str]) -> bool:
    tokens = _tokens(sentence)
    shared = sum(word in said for word, _, _ in tokens)
    return _weight(tokens) >= SENTENCE_WEIGHT and shared >= REPEATED_SHARE * len(tokens)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
