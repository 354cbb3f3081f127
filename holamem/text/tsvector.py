"""PostgreSQL's tsvector and tsquery types as text: built here, and read where the server wrote."""

import re
from collections.abc import Callable, Iterable, Sequence

from holamem.text.languages import has_han

# Limits of the server: a lexeme, a position, positions of one lexeme.
MAX_LEXEME_BYTES = 2_046
MAX_POSITION = 16_383
MAX_POSITIONS = 255
# The server refuses 1,048,575 bytes and more; the rest is head-room for its own padding.
MAX_VECTOR_BYTES = 950_000
# Entry header, alignment and position count, rounded up.
BYTES_PER_ENTRY = 12
BYTES_PER_POSITION = 2


def _escaped(lexeme: str) -> str:
    return lexeme.replace("\\", "\\\\").replace("'", "''")


def _quoted(lexeme: str) -> str:
    return f"'{_escaped(lexeme)}'"


def is_prefix(term: str) -> bool:
    """A lone Han character stands inside bigrams and is looked for as their first half."""
    return len(term) == 1 and has_han(term)


def _is_storable(lexeme: str) -> bool:
    return 0 < len(lexeme.encode("utf-8", "surrogatepass")) <= MAX_LEXEME_BYTES


def _distinct(lexemes: Iterable[str]) -> list[str]:
    return [lexeme for lexeme in dict.fromkeys(lexemes) if _is_storable(lexeme)]


def _grouped(terms: Sequence[tuple[str, int]]) -> dict[str, list[int]]:
    """Term -> its distinct positions, capped in value and number, in order."""
    places: dict[str, dict[int, None]] = {}
    for term, position in terms:
        found = places.setdefault(term, {})
        if len(found) < MAX_POSITIONS:
            found[min(max(position, 1), MAX_POSITION)] = None
    return {term: sorted(found) for term, found in places.items() if _is_storable(term)}


def to_tsvector_literal(terms: Sequence[tuple[str, int]], *, extra: Sequence[str] = ()) -> str:
    """``'term':1,5 'x':2`` for a cast to tsvector; "" for no terms.

    ``extra`` lexemes (a scope, say) come first and carry no positions. Terms that would bring
    the vector over the server's limit are left out, the last ones first.
    """
    entries = dict.fromkeys(_distinct(extra), "")
    size = sum(len(lexeme.encode()) + BYTES_PER_ENTRY for lexeme in entries)
    for term, positions in _grouped(terms).items():
        size += len(term.encode()) + BYTES_PER_ENTRY + BYTES_PER_POSITION * len(positions)
        if size > MAX_VECTOR_BYTES:
            break
        entries.setdefault(term, ":" + ",".join(map(str, positions)))
    return " ".join(_quoted(lexeme) + places for lexeme, places in entries.items())


def _alternative(term: str) -> str:
    return _quoted(term) + (":*" if is_prefix(term) else "")


def to_tsquery_literal(terms: Sequence[str], *, all_of: Sequence[str] = ()) -> str:
    """``'scope' & ('a' | 'b')`` for a cast to tsquery: every one of ``all_of``, any of ``terms``.

    "" when there are no terms, whatever ``all_of`` says: a question without content must match
    nothing, not the whole scope.
    """
    alternatives = [_alternative(term) for term in _distinct(terms)]
    if not alternatives:
        return ""
    required = [_quoted(lexeme) for lexeme in _distinct(all_of)]
    return " & ".join([*required, f"({' | '.join(alternatives)})"])


def frequencies(terms: Sequence[str]) -> Callable[[str | None], tuple[int, ...]]:
    """A reader of tsvectors as the server writes them: how often each of ``terms`` occurs in one.

    None, a vector that need not be read, has none. Opening the vectors here instead of in SQL
    (``unnest``) took a quarter of the time.
    """
    nothing = (0,) * len(terms)
    if not terms:
        return lambda _: nothing
    places = {_escaped(term): index for index, term in enumerate(terms)}
    open_ended = {term: index for term, index in places.items() if is_prefix(term)}
    rest = "(?:[^']|'')*"
    wanted = "|".join(re.escape(t) + (rest if t in open_ended else "") for t in places)
    # A quote inside a lexeme is doubled, so " '" opens a lexeme and nothing else.
    entry = re.compile(rf"(?:\A| )'({wanted})':([0-9A-D,]+)")

    def read(vector: str | None) -> tuple[int, ...]:
        counts = list(nothing)
        for lexeme, positions in entry.findall(vector or ""):
            times = positions.count(",") + 1
            for index in {places.get(lexeme), open_ended.get(lexeme[0])}:
                if index is not None:
                    counts[index] += times
        return tuple(counts)

    return read
