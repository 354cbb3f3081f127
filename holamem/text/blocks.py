"""Coarse markdown structure: code fences and tables, which must stay whole, and prose."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

BlockKind = Literal["prose", "code", "table"]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})([^\r\n]*)")
_DELIMITER_ROW_CHARACTERS = frozenset("|:- \t")


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of characters, ``start`` included and ``end`` not."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    kind: BlockKind
    start: int
    end: int


def lines_of(text: str, start: int, end: int) -> list[Span]:
    """Lines with their line ends (LF, CRLF or CR), in order, covering ``start`` to ``end``."""
    return [Span(*match.span()) for match in _LINE.finditer(text, start, end)]


def trimmed(text: str, start: int, end: int) -> Span | None:
    """The range without white space at its edges; None when nothing else is in it."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start, end) if start < end else None


def _closes(line: str, fence: str) -> bool:
    bare = line.strip().lstrip("> \t")
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def _fence_end(lines: list[str], first: int, fence: str) -> int:
    """Index behind the closing fence; an unclosed fence runs to the end, as in CommonMark."""
    for index in range(first + 1, len(lines)):
        if _closes(lines[index], fence):
            return index + 1
    return len(lines)


def _is_delimiter_row(line: str) -> bool:
    bare = line.strip()
    return "|" in bare and "-" in bare and set(bare) <= _DELIMITER_ROW_CHARACTERS


def _table_end(lines: list[str], first: int) -> int:
    index = first + 2
    while index < len(lines) and "|" in lines[index]:
        index += 1
    return index


def _protected_end(lines: list[str], index: int) -> tuple[BlockKind, int]:
    fence = _FENCE.match(lines[index])
    # A backtick in the info string makes it inline code, not a fence.
    if fence and not (fence[1][0] == "`" and "`" in fence[2]):
        return "code", _fence_end(lines, index, fence[1])
    has_header = "|" in lines[index] and index + 1 < len(lines)
    if has_header and _is_delimiter_row(lines[index + 1]):
        return "table", _table_end(lines, index)
    return "prose", index + 1


def _kinds_of_lines(lines: list[str]) -> Iterator[tuple[BlockKind, int, int]]:
    index = 0
    while index < len(lines):
        kind, end = _protected_end(lines, index)
        yield kind, index, end
        index = end


def markdown_blocks(text: str) -> list[Block]:
    """Blocks in order that cover the whole text; neighbouring lines of prose are one block."""
    spans = lines_of(text, 0, len(text))
    lines = [text[span.start : span.end] for span in spans]
    blocks: list[Block] = []
    for kind, first, end in _kinds_of_lines(lines):
        block = Block(kind, spans[first].start, spans[end - 1].end)
        if kind == "prose" and blocks and blocks[-1].kind == "prose":
            block = Block("prose", blocks.pop().start, block.end)
        blocks.append(block)
    return blocks
