"""Lines of an index that only point at other files: they are no content.

An index names each topic file in one line, as a list item or a table row that begins with a
link, a wiki link or a path. Whatever else stands in the file was written to be remembered.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from markdown_it import MarkdownIt

_ITEM = r"\s*(?:[-*+]|\d{1,3}[.)、])\s+(?:\[[ xX]\]\s+)?"
_FILE = r"[^\s()\[\]|<>`]+\.md(?:#[^\s()\[\]|`]*)?"
_TARGET = (
    rf"(?:\*\*|__)?(?:"
    rf"\[[^\]]*\]\(<?{_FILE}>?(?:\s+\"[^\"]*\")?\)"  # [grafana](shards/grafana.md)
    rf"|\[\[[^\]]+\]\]"  # [[shards/grafana]]
    rf"|`{_FILE}`"
    rf"|{_FILE}"
    rf")(?:\*\*|__)?"
)
_POINTER = re.compile(rf"\A(?:{_ITEM}|\s*\|\s*)?{_TARGET}\s*(?:$|[|—–:：,，;；(（=\-→]|[-=]>)")
_TABLE_ROW = re.compile(r"\A\s*\|")
_TABLE_RULE = re.compile(r"\A\s*\|?\s*:?-{2,}")


def without_pointers(body: str) -> str:
    """The body without the lines that point; a table of nothing but pointers goes whole."""
    kept: list[str] = []
    for is_plain, lines in _stretches(body):
        left = [line for line in lines if not (is_plain and _POINTER.match(line))]
        is_table = is_plain and _TABLE_ROW.match(lines[0]) is not None
        if is_table and len(left) < len(lines) and len(left) <= _table_head(left):
            continue
        kept += left
    return "\n".join(kept).strip("\n")


def _stretches(body: str) -> Iterator[tuple[bool, list[str]]]:
    """Code, tables and the rest, each as lines that stand together; code is not plain."""
    code = _code_lines(body)

    def kind(item: tuple[int, str]) -> tuple[bool, bool]:
        return item[0] not in code, _TABLE_ROW.match(item[1]) is not None

    for (is_plain, _), stretch in groupby(enumerate(body.splitlines()), key=kind):
        yield is_plain, [line for _, line in stretch]


def _code_lines(body: str) -> set[int]:
    tokens = MarkdownIt("commonmark").parse(body)
    maps = [token.map for token in tokens if token.type in ("fence", "code_block") and token.map]
    return {line for start, end in maps for line in range(start, end)}


def _table_head(lines: list[str]) -> int:
    """How many of the lines are the head of a table."""
    return 2 if len(lines) > 1 and _TABLE_RULE.match(lines[1]) else 0
