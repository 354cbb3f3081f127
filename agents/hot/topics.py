"""Names, texts and index lines of the hot layer: pure rules, no rows."""

import re
from dataclasses import dataclass

from holamem.errors import InvalidInput, PayloadTooLarge
from holamem.text.graphemes import boundary_before
from holamem.text.normalise import find_forbidden, is_blank, normalise
from holamem.text.secrets import mask_secrets
from workspaces.recall_mark import contains_recalled_text

INDEX_LINES = 200
INDEX_BYTES = 25_600  # of UTF-8
LINE_CHARACTERS = 150
NAME_CHARACTERS = 60
TOPIC_BYTES = 100_000  # of UTF-8: a topic is read into a prompt as a whole
INDEX_STORED_BYTES = 1_000_000
ELLIPSIS = "…"

# Letters and digits of any script, and what may stand between them; never a path.
_NAME = re.compile(r"[^\W_](?:[\w .+-]*[\w+])?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_LINE = re.compile(r"- \[(?P<name>[^\]]+)\]\(topics/(?P<file>[^)]+)\.md\)")


@dataclass(frozen=True, slots=True)
class TopicDraft:
    """A topic as its writer gives it; `summary` becomes its line in the index."""

    name: str
    content: str
    summary: str


def checked_topic(draft: TopicDraft) -> TopicDraft:
    """As it is stored: the name in its one form, line ends as `\\n`, secrets masked.

    Raises InvalidInput or PayloadTooLarge that names the field.
    """
    summary = " ".join(checked_text(draft.summary, field="summary").split())
    if is_blank(summary):
        raise InvalidInput("A topic needs a summary for its line in the index.", field="summary")
    content = checked_text(draft.content, field="content")
    if is_blank(content):
        raise InvalidInput("A topic without text is deleted, not saved.", field="content")
    if len(content.encode()) > TOPIC_BYTES:
        raise PayloadTooLarge(f"A topic holds {TOPIC_BYTES:,} bytes at most.", field="content")
    return TopicDraft(checked_name(draft.name), content, summary)


def checked_name(name: str) -> str:
    """Lower case, NFKC, single spaces. Raises InvalidInput."""
    found = normalise(name).casefold() if not find_forbidden(name) else ""
    if not _NAME.fullmatch(found) or len(found) > NAME_CHARACTERS or ".." in found:
        raise InvalidInput(
            f"A topic's name is 1 to {NAME_CHARACTERS} letters, digits, spaces, dots, dashes or"
            " plus signs, and begins with a letter or digit.",
            field="name",
        )
    return found


def checked_text(text: str, *, field: str) -> str:
    """Secrets masked, as in events. Raises InvalidInput for control characters."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if find_forbidden(plain) or _CONTROL.search(plain):
        raise InvalidInput("Control characters cannot be stored.", field=field)
    if contains_recalled_text(plain):
        raise InvalidInput("Recalled memory cannot be stored as new memory.", field=field)
    return mask_secrets(plain).text


def index_line(*, name: str, summary: str) -> str:
    """At most 150 characters; a longer summary is cut, with a sign of it."""
    line = f"- [{name}](topics/{name}.md) — {summary}"
    if len(line) <= LINE_CHARACTERS:
        return line
    end = boundary_before(line, LINE_CHARACTERS - len(ELLIPSIS))
    return line[:end].rstrip() + ELLIPSIS


def with_line(content: str, *, name: str, line: str) -> str:
    """The index with the topic's line in its old place, or at the end."""
    lines = content.splitlines()
    places = [number for number, text in enumerate(lines) if line_name(text) == name]
    if not places:
        return "\n".join([*lines, line]) + "\n"
    kept = [text for number, text in enumerate(lines) if number not in places[1:]]
    kept[places[0]] = line
    return "\n".join(kept) + "\n"


def without_line(content: str, *, name: str) -> str:
    kept = [text for text in content.splitlines() if line_name(text) != name]
    return "\n".join(kept) + "\n" if kept else ""


def line_name(line: str) -> str | None:
    """The topic that an index line is of; None for any other line."""
    match = _LINE.match(line)
    return None if match is None else match["name"]


def summary_of(line: str) -> str:
    """What an index line says of its topic."""
    match = _LINE.match(line)
    return line if match is None else line[match.end() :].lstrip(" —")


def shown_index(content: str) -> str:
    """As a prompt shows it: the files that its lines name are of no use there, and cost a third."""
    return "".join(
        line if line_name(line) is None else _LINE.sub(r"- \g<name>", line)
        for line in content.splitlines(keepends=True)
    )


def is_over_budget(content: str) -> bool:
    return len(content.splitlines()) > INDEX_LINES or len(content.encode()) > INDEX_BYTES
