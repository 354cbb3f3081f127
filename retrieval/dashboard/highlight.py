"""Which words of an excerpt the question asked for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from holamem.text.segment import query_terms

MAX_TERMS = 40
_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTER = r"[^\W_\u3400-\u9fff]"  # of a Latin word or a number


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    is_marked: bool


def terms_of(question: str) -> list[str]:
    """What the index looks for: stems of Latin words, identifiers, pairs of Han characters."""
    return [term for term in query_terms(question) if len(term) > 1][:MAX_TERMS]


def mark_terms(text: str, terms: Iterable[str]) -> list[Piece]:
    """The text in pieces, in order; joined they give it back. A stem marks its whole word."""
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
    return escaped if _HAN.search(term) else rf"(?<!{_LETTER}){escaped}{_LETTER}*"


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours of one kind become one piece."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and joined[-1].is_marked == piece.is_marked:
            joined[-1] = Piece(joined[-1].text + piece.text, piece.is_marked)
        else:
            joined.append(piece)
    return joined
