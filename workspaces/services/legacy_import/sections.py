"""Markdown to sections: what stands below a heading, with the headings above it.

Only headings divide a text, so that code blocks, lists and tables stay whole.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_RULE = re.compile(r"\A\s*([-*_]\s*){3,}\Z")
_PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True, slots=True)
class Heading:
    """`line` is the text as it was written, with its marks."""

    level: int
    title: str
    line: str


@dataclass(frozen=True, slots=True)
class Section:
    """`headings` from the outermost to its own; empty for what stands before the first one."""

    headings: tuple[Heading, ...]
    body: str

    @property
    def text(self) -> str:
        """With its headings: a statement on its own would not say what it is about."""
        head = "\n".join(heading.line for heading in self.headings)
        return f"{head}\n\n{self.body}" if head else self.body


@dataclass(frozen=True, slots=True)
class _Mark:
    start: int
    end: int
    heading: Heading


def split_sections(markdown: str) -> list[Section]:
    """In order; a heading with nothing of its own below it makes no section."""
    lines = markdown.splitlines()
    marks = list(_marks(markdown, lines))
    sections = [Section((), _body(lines[: marks[0].start if marks else len(lines)]))]
    path: list[Heading] = []
    for number, mark in enumerate(marks):
        path = [above for above in path if above.level < mark.heading.level] + [mark.heading]
        stop = marks[number + 1].start if number + 1 < len(marks) else len(lines)
        sections.append(Section(tuple(path), _body(lines[mark.end : stop])))
    return [section for section in sections if is_content(section.body)]


def _marks(markdown: str, lines: Sequence[str]) -> Iterator[_Mark]:
    """Headings of the document itself, not those quoted or inside a list."""
    tokens = _PARSER.parse(markdown)
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            start, end = token.map
            written = "\n".join(lines[start:end]).strip()
            yield _Mark(start, end, Heading(int(token.tag[1:]), inline.content.strip(), written))


def _body(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n")


def is_content(body: str) -> bool:
    """Whether anything is said, apart from comments and rules between sections."""
    plain = _COMMENT.sub("", body)
    return any(line.strip() and not _RULE.match(line) for line in plain.splitlines())


def split_long(body: str, *, max_bytes: int) -> list[str]:
    """Parts of at most `max_bytes` of UTF-8, cut between blocks; a longer block stays whole."""
    if len(body.encode()) <= max_bytes:
        return [body]
    parts: list[str] = []
    for block in _blocks(body):
        joined = f"{parts[-1]}\n\n{block}" if parts else block
        if parts and len(joined.encode()) <= max_bytes:
            parts[-1] = joined
        else:
            parts.append(block)
    return parts


def _blocks(body: str) -> Iterator[str]:
    lines = body.splitlines()
    starts = [
        token.map[0]
        for token in _PARSER.parse(body)
        if token.level == 0 and token.map and token.nesting >= 0
    ]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield "\n".join(lines[start:stop]).strip("\n")
