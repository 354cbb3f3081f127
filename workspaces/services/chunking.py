"""Pure: the text of an event -> spans of its chunks."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from semantic_text_splitter import MarkdownSplitter

from holamem.text.blocks import Block, Span, lines_of, markdown_blocks, trimmed
from holamem.text.graphemes import boundary_before
from holamem.text.normalise import is_blank
from holamem.text.sentences import split_sentences

# A shorter text is one memory: splitting it would only tear its sentences from their subject.
ONE_CHUNK_BELOW = 1_200
# The splitter may stop between these two when a heading, paragraph or sentence ends there.
SMALLEST_CAPACITY, LARGEST_CAPACITY = 800, 1_200
# No chunk is longer. A code block or table up to this size stays whole.
HARD_CAP = 2_000
# The splitter's time grows with the square of an unbroken run (a line of a million characters
# took minutes), so it is fed windows of whole paragraphs, or of whole sentences, up to this size.
WINDOW = 4_000

_PARAGRAPH_END = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)+")
# The splitter reads UTF-8; a lone surrogate has none. One character for one keeps the offsets.
_SURROGATE = re.compile("[\ud800-\udfff]")


@lru_cache(maxsize=1)
def _splitter() -> MarkdownSplitter:
    return MarkdownSplitter((SMALLEST_CAPACITY, LARGEST_CAPACITY))


def _tiles(cuts: Iterable[int], *, start: int, end: int) -> list[Span]:
    """The range cut at the given places, which are in order."""
    edges = [start, *(cut for cut in cuts if start < cut < end), end]
    return [Span(a, b) for a, b in pairwise(edges) if a < b]


def _cut_at_characters(text: str, span: Span, *, limit: int) -> list[Span]:
    """Pieces of at most ``limit`` characters between grapheme clusters.

    A cluster longer than the limit (a flood of combining marks) is the one thing cut through.
    """
    cuts: list[int] = []
    position = span.start
    while span.end - position > limit:
        cut = boundary_before(text, position + limit, floor=position)
        position = cut if cut > position else position + limit
        cuts.append(position)
    return _tiles(cuts, start=span.start, end=span.end)


def _packed(spans: Iterable[Span], *, limit: int) -> list[Span]:
    """Neighbours joined, first come first served, while the join stays within the limit."""
    packed: list[Span] = []
    for span in spans:
        if packed and span.end - packed[-1].start <= limit:
            span = Span(packed.pop().start, span.end)
        packed.append(span)
    return packed


def _follows_heading(text: str, end: int, floor: int) -> bool:
    """Whether the last line before ``end`` is a heading, which must not lose its text."""
    return text.startswith("#", max(text.rfind("\n", floor, end) + 1, floor))


def _paragraphs(text: str, span: Span) -> list[Span]:
    cuts: list[int] = []
    position = span.start
    for match in _PARAGRAPH_END.finditer(text, span.start, span.end):
        if not _follows_heading(text, match.start(), position):
            position = match.end()
            cuts.append(position)
    return _tiles(cuts, start=span.start, end=span.end)


def _sentences(text: str, span: Span, *, limit: int) -> list[Span]:
    """Sentences with the space between them, the over-long ones cut between characters."""
    if span.end - span.start <= limit:
        return [span]
    ends = (span.start + found.end for found in split_sentences(text[span.start : span.end]))
    tiles = _tiles(ends, start=span.start, end=span.end)
    return [piece for tile in tiles for piece in _cut_at_characters(text, tile, limit=limit)]


def _prose_chunks(text: str, block: Block) -> list[Span]:
    paragraphs = _paragraphs(text, Span(block.start, block.end))
    pieces = [piece for span in paragraphs for piece in _sentences(text, span, limit=WINDOW)]
    return [
        Span(window.start + offset, window.start + offset + len(chunk))
        for window in _packed(pieces, limit=WINDOW)
        for offset, chunk in _splitter().chunk_indices(text[window.start : window.end])
    ]


def _line_chunks(text: str, block: Block) -> list[Span]:
    """A code block or table that is too long to stay whole is cut between its lines."""
    lines = lines_of(text, block.start, block.end)
    pieces = [p for line in lines for p in _cut_at_characters(text, line, limit=LARGEST_CAPACITY)]
    return _packed(pieces, limit=LARGEST_CAPACITY)


def _block_chunks(text: str, block: Block) -> list[Span]:
    if block.kind == "prose":
        return _prose_chunks(text, block)
    whole = trimmed(text, block.start, block.end)
    if whole and whole.end - whole.start <= HARD_CAP:
        return [whole]
    return _line_chunks(text, block)


def split_text(text: str) -> list[Span]:
    """Chunks as ordered, disjoint spans of the text, covering all that is not white space.

    Each starts and ends with a visible character and has at most ``HARD_CAP`` characters. A text
    under ``ONE_CHUNK_BELOW`` characters is one chunk; a blank one has none.
    """
    if is_blank(text):
        return []
    if len(text) < ONE_CHUNK_BELOW:
        whole = trimmed(text, 0, len(text))
        return [whole] if whole else []
    readable = _SURROGATE.sub("\ufffd", text)
    blocks = markdown_blocks(readable)
    spans = [span for block in blocks for span in _block_chunks(readable, block)]
    edges = (trimmed(text, span.start, span.end) for span in spans)
    return _packed((span for span in edges if span), limit=LARGEST_CAPACITY)
