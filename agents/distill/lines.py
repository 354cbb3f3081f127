"""A topic as distillation writes it: a list, each line with the id of the statement that it is.

The id is also the durable memory's, so that what is forgotten in one place is found in the other.
Lines that others wrote are left as they are.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

MARK_DIGITS = 12
_MARK = re.compile(rf" \^(?P<mark>[0-9a-f]{{{MARK_DIGITS}}})$")


@dataclass(frozen=True, slots=True)
class TopicLine:
    """`mark` is "" for a line that was not distilled."""

    mark: str
    text: str


def mark_of(statement_id: UUID) -> str:
    """The random end of an id, which tells statements apart."""
    return statement_id.hex[-MARK_DIGITS:]


def topic_lines(content: str) -> list[TopicLine]:
    found = []
    for line in content.splitlines():
        match = _MARK.search(line)
        text = line if match is None else line[: match.start()]
        found.append(TopicLine("" if match is None else match["mark"], text.removeprefix("- ")))
    return found


def marks_in(content: str) -> set[str]:
    return {line.mark for line in topic_lines(content) if line.mark}


def with_statement(content: str, *, mark: str, text: str, replaces: Iterable[str]) -> str:
    """The new line at the end, in place of those that it replaces; the same one twice is once."""
    gone = {*replaces, mark}
    kept = [line for line in content.splitlines() if _mark_in(line) not in gone]
    return "\n".join([*kept, f"- {' '.join(text.split())} ^{mark}"]) + "\n"


def _mark_in(line: str) -> str | None:
    match = _MARK.search(line)
    return None if match is None else match["mark"]
