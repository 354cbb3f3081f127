"""Which words of an excerpt the question asked for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MAX_TERMS = 40
MIN_LATIN_LETTERS = 3  # shorter ones are mostly function words
_LATIN = re.compile(r"[^\W_\u3400-\u9fff]+(?:[.:/_-][^\W_\u3400-\u9fff]+)*")
_HAN = re.compile(r"[\u3400-\u9fff]+")


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    is_marked: bool


def terms_of(question: str) -> list[str]:
    """Latin words of three letters or more, numbers, and each pair of neighbouring Han characters."""
    latin = [
        word
        for word in _LATIN.findall(question)
        if len(word) >= MIN_LATIN_LETTERS or any(letter.isdigit() for letter in word)
    ]
    pairs = [run[i : i + 2] for run in _HAN.findall(question) for i in range(len(run) - 1)]
    return list(dict.fromkeys([*latin, *pairs]))[:MAX_TERMS]


def mark_terms(text: str, terms: Iterable[str]) -> list[Piece]:
    """The text in pieces, in order; joined they give it back. Latin terms match at word starts."""
    patterns = [_pattern(term) for term in terms if term]
    if not patterns:
        return [Piece(text, False)] if text else []
    found = re.compile("|".join(sorted(patterns, key=len, reverse=True)), re.IGNORECASE)
    pieces: list[Piece] = []
    end = 0
    for match in found.finditer(text):
        pieces += [Piece(text[end : match.start()], False), Piece(match.group(), True)]
        end = match.end()
    pieces.append(Piece(text[end:], False))
    return _joined(piece for piece in pieces if piece.text)


def _pattern(term: str) -> str:
    escaped = re.escape(term)
    return escaped if _HAN.search(term) else rf"(?<![^\W\u3400-\u9fff]){escaped}"


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours of one kind become one piece."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and joined[-1].is_marked == piece.is_marked:
            joined[-1] = Piece(joined[-1].text + piece.text, piece.is_marked)
        else:
            joined.append(piece)
    return joined
