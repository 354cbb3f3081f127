"""The hot layer: one index and many topics for each end user, and for the workspace itself.

Its writers are the tool `memory_write`, distillation, compaction (the index only) and an
operator's import; people read and delete. All go through here: a topic and its index line change
in one transaction, each version is kept, and the history has an entry of it.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from agents.hot.history import append_history
from agents.hot.topics import (
    INDEX_STORED_BYTES,
    TopicDraft,
    checked_name,
    checked_text,
    checked_topic,
    index_line,
    is_over_budget,
    with_line,
    without_line,
)
from agents.models.hot_memory import INDEX_NAME, TextMemory, TextMemoryVersion
from holamem.clock import now
from holamem.database.prepared import fetch_rows
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict, NotFound, PayloadTooLarge
from workspaces.models.tenancy import Workspace

Scopes = Sequence[UUID] | str | None
INDEX, TOPIC = TextMemory.Kind.INDEX, TextMemory.Kind.TOPIC
ABSENT = 0  # the version of what is not there

# The ORM has no key-share lock, which does not keep other writers of the same person waiting.
_HOLD = """
SELECT id FROM workspaces_enduser
 WHERE workspace_id = %(workspace)s AND id = %(user)s AND erased_at IS NULL FOR KEY SHARE
"""


@dataclass(frozen=True, slots=True)
class Writer:
    """`origin` as in TextMemoryVersion; a tool's write carries its call, so that it happens once."""

    origin: str
    run_id: UUID | None = None
    tool_call_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class FrozenIndexes:
    """`sha256` is of both together, as `prefix_sha256` computes it."""

    user: str
    workspace: str
    sha256: str


def get_text_memory(
    workspace: Workspace, *, scopes: Scopes, scope_id: UUID, kind: str, name: str = INDEX_NAME
) -> TextMemory:
    """Raises NotFound, also for one that was deleted."""
    with workspace_scope(workspace, scopes):
        row = _present(workspace, scope_id=scope_id).filter(kind=kind, name=name).first()
    if row is None:
        raise NotFound("There is no such text memory.")
    return row


def list_text_memories(
    workspace: Workspace, *, scopes: Scopes, scope_id: UUID | None = None
) -> list[TextMemory]:
    """Of one scope, or of all that `scopes` shows: each index before its topics, by name."""
    with workspace_scope(workspace, scopes):
        rows = workspace.text_memories.filter(deleted_at=None)
        if scope_id is not None:
            rows = rows.filter(scope_id=scope_id)
        elif scopes != ALL_SCOPES:
            rows = rows.filter(scope_id__in=[workspace.pk] if scopes is None else scopes)
        return list(rows.order_by("scope_id", "kind", "name"))


def list_versions(
    workspace: Workspace, *, scopes: Scopes, scope_id: UUID, kind: str, name: str = INDEX_NAME
) -> list[TextMemoryVersion]:
    """Newest first; [] for what never was."""
    with workspace_scope(workspace, scopes):
        rows = workspace.text_memory_versions.filter(scope_id=scope_id, kind=kind, name=name)
        return list(rows.order_by("-version"))


def upsert_topic(
    workspace: Workspace,
    *,
    scope_id: UUID,
    topic: TopicDraft,
    writer: Writer,
    expected_version: int | None = None,
) -> TextMemory:
    """Replace the whole topic and refresh its line in the index.

    `expected_version`: what the writer has read (0: that there is none); None does not ask.
    Raises Conflict when it is another one by now, InvalidInput and PayloadTooLarge for the draft.
    """
    checked = checked_topic(topic)
    line = index_line(name=checked.name, summary=checked.summary)
    with workspace_scope(workspace, [scope_id]):
        index = _locked_index(workspace, scope_id=scope_id)
        row = _locked(workspace, scope_id=scope_id, kind=TOPIC, name=checked.name)
        if _is_done(workspace, writer=writer):
            return row
        _require_version(row, version=expected_version)
        _write(row, content=checked.content, writer=writer)
        lines = with_line(index.content, name=checked.name, line=line)
        _write(index, content=lines, writer=writer)
        _note(row, writer=writer, action="saved")
    return row


def delete_topic(
    workspace: Workspace,
    *,
    scope_id: UUID,
    name: str,
    writer: Writer,
    expected_version: int | None = None,
) -> None:
    """Its line goes with it. Raises NotFound when there is none, Conflict as `upsert_topic`."""
    checked = checked_name(name)
    with workspace_scope(workspace, [scope_id]):
        index = _locked_index(workspace, scope_id=scope_id)
        row = _locked(workspace, scope_id=scope_id, kind=TOPIC, name=checked)
        if _is_done(workspace, writer=writer):
            return
        if row.deleted_at is not None:
            raise NotFound("There is no such topic.", field="name")
        _require_version(row, version=expected_version)
        _write(row, content=None, writer=writer)
        lines = without_line(index.content, name=checked)
        _write(index, content=lines, writer=writer)
        _note(row, writer=writer, action="deleted")


def upsert_index(
    workspace: Workspace,
    *,
    scope_id: UUID,
    content: str,
    writer: Writer,
    expected_version: int | None = None,
) -> TextMemory:
    """Replace the whole index: by compaction and import only. Raises as `upsert_topic`.

    One over its budget is stored whole and marked.
    """
    checked = checked_text(content, field="content")
    if len(checked.encode()) > INDEX_STORED_BYTES:
        raise PayloadTooLarge("The index is too long to be stored.", field="content")
    with workspace_scope(workspace, [scope_id]):
        index = _locked_index(workspace, scope_id=scope_id)
        _require_version(index, version=expected_version)
        _write(index, content=checked, writer=writer)
        _note(index, writer=writer, action="saved")
    return index


def frozen_indexes(workspace: Workspace, *, scope_id: UUID) -> FrozenIndexes:
    """Both indexes as they stand now; empty where there is none, or nobody's session."""
    scopes = sorted({workspace.pk, scope_id})
    with workspace_scope(workspace, scopes):
        rows = workspace.text_memories.filter(kind=INDEX, deleted_at=None, scope_id__in=scopes)
        found = {row.scope_id: row.content for row in rows}
    shared = found.get(workspace.pk, "")
    own = "" if scope_id == workspace.pk else found.get(scope_id, "")
    return FrozenIndexes(own, shared, prefix_sha256(user=own, workspace=shared))


def prefix_sha256(*, user: str, workspace: str) -> str:
    return hashlib.sha256(json.dumps([user, workspace], ensure_ascii=False).encode()).hexdigest()


def _present(workspace: Workspace, *, scope_id: UUID) -> QuerySet[TextMemory]:
    return workspace.text_memories.filter(scope_id=scope_id, deleted_at=None)


def _locked_index(workspace: Workspace, *, scope_id: UUID) -> TextMemory:
    """First in each write, so that the writers of a scope follow one another.

    The person is held until the commit against an erasure, which would not see what is written.
    """
    if scope_id != workspace.pk and not _is_held(workspace, scope_id=scope_id):
        raise NotFound("There is no such end user.")
    return _locked(workspace, scope_id=scope_id, kind=INDEX, name=INDEX_NAME)


def _is_held(workspace: Workspace, *, scope_id: UUID) -> bool:
    return bool(fetch_rows(_HOLD, {"workspace": workspace.pk, "user": scope_id}))


def _locked(workspace: Workspace, *, scope_id: UUID, kind: str, name: str) -> TextMemory:
    """The row until the end of the step; made, as a deleted one, where there was none."""
    made = TextMemory(
        workspace=workspace, scope_id=scope_id, kind=kind, name=name, byte_len=0, version=ABSENT,
        deleted_at=now(),
    )  # fmt: skip
    rows = workspace.text_memories.filter(scope_id=scope_id, kind=kind, name=name)
    if not rows.exists():
        workspace.text_memories.bulk_create([made], ignore_conflicts=True)
    return rows.select_for_update().get()


def _is_done(workspace: Workspace, *, writer: Writer) -> bool:
    """Whether this call of a tool has written already: its worker died before it could say so."""
    if writer.tool_call_id is None:
        return False
    return workspace.text_memory_versions.filter(tool_call_id=writer.tool_call_id).exists()


def _require_version(row: TextMemory, *, version: int | None) -> None:
    present = ABSENT if row.deleted_at is not None else row.version
    if version is not None and version != present:
        raise Conflict(
            f"'{row.name}' is at version {present} by now, not {version}: read it again.",
            field="version",
            detail={"code": "version_changed", "version": present},
        )


def _write(row: TextMemory, *, content: str | None, writer: Writer) -> None:
    """The row's next version, kept beside the others. None deletes."""
    row.content = content or ""
    row.byte_len = len(row.content.encode())
    row.over_budget = row.kind == INDEX and is_over_budget(row.content)
    row.version += 1
    row.deleted_at = now() if content is None else None
    row.save()
    TextMemoryVersion.objects.create(
        workspace=row.workspace,
        scope_id=row.scope_id,
        kind=row.kind,
        name=row.name,
        version=row.version,
        content=row.content,
        is_deletion=content is None,
        origin=writer.origin,
        run_id=writer.run_id,
        tool_call_id=writer.tool_call_id,
    )


def _note(row: TextMemory, *, writer: Writer, action: str) -> None:
    append_history(
        row.workspace,
        scope_id=row.scope_id,
        kind=f"text_memory.{action}",
        payload={
            "kind": row.kind,
            "name": row.name,
            "version": row.version,
            "bytes": row.byte_len,
            "sha256": hashlib.sha256(row.content.encode()).hexdigest(),
            "origin": writer.origin,
            "run_id": None if writer.run_id is None else str(writer.run_id),
        },
    )
