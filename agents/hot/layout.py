"""The hot layer as a folder of an older service: `INDEX.md`, `HISTORY.md` and `shards/*.md`.

Brought in by an operator, and written out for one; nothing is read from such a folder at run time.
A history file is kept as a trace, in the history, and becomes no memory.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from agents.hot.history import append_history
from agents.hot.text_memory import Writer, get_text_memory, list_text_memories, upsert_topic
from agents.hot.topics import TOPIC_BYTES, TopicDraft, checked_name
from agents.models.hot_memory import HistoryEntry, TextMemory, TextMemoryVersion
from holamem.database.scope import workspace_scope
from holamem.errors import HolamemError, InvalidInput, NotFound
from workspaces.models.tenancy import Workspace

INDEX_FILE, HISTORY_FILE, SHARDS = "INDEX.md", "HISTORY.md", "shards"
HISTORY_KIND = "history.imported"
HISTORY_BYTES = 50_000_000
PART_CHARACTERS = 50_000  # of a history file in one entry
HEADING = re.compile(r"^#+\s*")
_LINE = re.compile(
    r"\s*[-*+]\s*\[[^\]]*\]\((?:\./)?(?:shards|topics)/(?P<name>[^)]+)\.md\)\W*(?P<summary>.*)"
)

TOPIC, INDEX = TextMemory.Kind.TOPIC, TextMemory.Kind.INDEX


@dataclass(slots=True)
class LayoutReport:
    """`known` topics say what the file says already; `refused` are files with the reason."""

    saved: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    history_entries: int = 0


def import_layout(
    workspace: Workspace, *, scope_id: UUID, folder: Path, is_dry_run: bool = False
) -> LayoutReport:
    """Each shard as a topic, replaced whole, with its line of the index. A second run adds nothing.

    Raises InvalidInput for a folder that is none of these.
    """
    if not (folder / SHARDS).is_dir() and not (folder / INDEX_FILE).is_file():
        raise InvalidInput(f"There is no {INDEX_FILE} and no {SHARDS} in this folder.")
    report, summaries = LayoutReport(), _summaries(folder)
    for path in _shards(folder):
        try:
            draft = _draft(path, summaries=summaries)
            if _is_known(workspace, scope_id=scope_id, draft=draft):
                report.known.append(draft.name)
                continue
            if not is_dry_run:
                writer = Writer(TextMemoryVersion.Origin.IMPORT)
                upsert_topic(workspace, scope_id=scope_id, topic=draft, writer=writer)
            report.saved.append(draft.name)
        except HolamemError as error:
            report.refused.append((path.name, error.message))
    if not is_dry_run:
        report.history_entries = _import_history(workspace, scope_id=scope_id, folder=folder)
    return report


def _shards(folder: Path) -> Iterator[Path]:
    """In order of name; links are not followed: they may lead out of the folder."""
    if (folder / SHARDS).is_dir():
        for path in sorted((folder / SHARDS).iterdir()):
            if path.suffix.casefold() == ".md" and path.is_file() and not path.is_symlink():
                yield path


def _summaries(folder: Path) -> dict[str, str]:
    path = folder / INDEX_FILE
    if not path.is_file() or path.is_symlink():
        return {}
    found = (_LINE.match(line) for line in _read(path, limit=TOPIC_BYTES * 10).splitlines())
    return {match["name"].casefold(): match["summary"].strip() for match in found if match}


def _read(path: Path, *, limit: int) -> str:
    if path.stat().st_size > limit:
        raise InvalidInput(f"The file is larger than {limit:,} bytes.")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("The file is not UTF-8.") from error


def _draft(path: Path, *, summaries: dict[str, str]) -> TopicDraft:
    """Without a line in the index the shard's own first words are its summary."""
    content = _read(path, limit=TOPIC_BYTES)
    lines = (HEADING.sub("", line).strip() for line in content.splitlines())
    summary = summaries.get(path.stem.casefold()) or next(filter(None, lines), "")
    return TopicDraft(checked_name(path.stem), content, summary)


def _is_known(workspace: Workspace, *, scope_id: UUID, draft: TopicDraft) -> bool:
    try:
        row = get_text_memory(
            workspace, scopes=[scope_id], scope_id=scope_id, kind=TOPIC, name=draft.name
        )
    except NotFound:
        return False
    return row.content == draft.content.replace("\r\n", "\n")


def _import_history(workspace: Workspace, *, scope_id: UUID, folder: Path) -> int:
    path = folder / HISTORY_FILE
    if not path.is_file() or path.is_symlink():
        return 0
    text = _read(path, limit=HISTORY_BYTES).replace("\x00", "")
    digest = hashlib.sha256(text.encode()).hexdigest()
    parts = [text[at : at + PART_CHARACTERS] for at in range(0, len(text), PART_CHARACTERS)]
    with workspace_scope(workspace, [scope_id]):
        known = workspace.history_entries.filter(scope_id=scope_id, kind=HISTORY_KIND)
        if known.filter(payload__file_sha256=digest).exists():
            return 0
        for number, part in enumerate(parts, 1):
            payload = {"file_sha256": digest, "part": number, "parts": len(parts), "text": part}
            append_history(workspace, scope_id=scope_id, kind=HISTORY_KIND, payload=payload)
    return len(parts)


def export_layout(workspace: Workspace, *, scope_id: UUID, folder: Path) -> int:
    """Returns how many files were written. Raises InvalidInput for a folder that is not empty."""
    if folder.exists() and any(folder.iterdir()):
        raise InvalidInput("The folder is not empty.")
    (folder / SHARDS).mkdir(parents=True, exist_ok=True)
    written = 1
    for row in list_text_memories(workspace, scopes=[scope_id], scope_id=scope_id):
        if row.kind == TOPIC:
            _write(folder / SHARDS / f"{row.name}.md", row.content)
        else:
            _write(folder / INDEX_FILE, row.content.replace("](topics/", f"]({SHARDS}/"))
        written += 1
    with workspace_scope(workspace, [scope_id]):
        entries = workspace.history_entries.filter(scope_id=scope_id).order_by("position")
        text = "".join(map(_entry_text, entries.iterator()))
    _write(folder / HISTORY_FILE, text)
    return written


def _entry_text(entry: HistoryEntry) -> str:
    payload = json.dumps(entry.payload, ensure_ascii=False, sort_keys=True)
    return f"## {entry.position} {entry.created_at.isoformat()} {entry.kind}\n\n{payload}\n\n"


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a full disk leaves no half of a file under its name."""
    draft = path.with_name(f".{path.name}.part")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
