"""The trace of the hot layer: one entry for each operation, failure and distillation.

Entries only grow, each with the hash of the one before it, so that a change, a gap or a lost end
in the middle shows. They are read by people and by the work-off of a backlog, never by agents.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from agents.models.hot_memory import HistoryEntry
from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.text.secrets import mask_json
from workspaces.models.tenancy import Workspace

START = "0" * 64  # what the first entry names as the one before it
READ_ENTRIES = 500

# Two keys: ours among the advisory locks, and the workspace's.
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('agents.history'), hashtext(%s))"


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """`reason`: position, previous, payload or hash."""

    position: int
    entry_id: UUID
    reason: str


def append_history(
    workspace: Workspace, *, scope_id: UUID, kind: str, payload: Mapping[str, Any]
) -> HistoryEntry:
    """Inside the caller's transaction, as its last step: the workspace's chain is held until then.

    As the system, because the entry before this one may be of an end user that the caller's step
    does not see. Secrets in `payload` are masked.
    """
    masked, _ = mask_json(json.loads(json.dumps(dict(payload))))
    with system_scope():
        with connection.cursor() as cursor:
            cursor.execute(_LOCK, [str(workspace.pk)])
        last = workspace.history_entries.order_by("-position").first()
        entry = HistoryEntry(
            workspace=workspace,
            scope_id=scope_id,
            position=1 if last is None else last.position + 1,
            kind=kind,
            payload=masked,
            payload_sha256=payload_digest(masked),
            prev_sha256=START if last is None else last.sha256,
            created_at=now(),
        )
        entry.sha256 = entry_digest(entry)
        entry.save(force_insert=True)
    return entry


def payload_digest(payload: Mapping[str, Any]) -> str:
    text = json.dumps(payload, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def entry_digest(entry: HistoryEntry) -> str:
    """Over the payload's hash in place of the payload, which an erasure may take away."""
    parts = [
        str(entry.workspace_id),
        str(entry.scope_id),
        str(entry.position),
        entry.kind,
        _moment(entry.created_at),
        entry.payload_sha256,
        entry.prev_sha256,
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _moment(value: datetime) -> str:
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def verify_chain(workspace: Workspace) -> list[BrokenLink]:
    """Where the chain does not hold, by position; empty when all of it does."""
    broken: list[BrokenLink] = []
    previous = START
    for expected, entry in enumerate(_all_entries(workspace), 1):
        reason = _fault_of(entry, expected=expected, previous=previous)
        if reason:
            broken.append(BrokenLink(entry.position, entry.id, reason))
            break  # behind a broken link every later one is broken too
        previous = entry.sha256
    return broken


def _fault_of(entry: HistoryEntry, *, expected: int, previous: str) -> str:
    if entry.position != expected:
        return "position"
    if entry.prev_sha256 != previous:
        return "previous"
    if not entry.is_erased and payload_digest(entry.payload) != entry.payload_sha256:
        return "payload"
    return "" if entry_digest(entry) == entry.sha256 else "hash"


def _all_entries(workspace: Workspace) -> Iterator[HistoryEntry]:
    position = 0
    while True:
        with system_scope():
            rows = workspace.history_entries.filter(position__gt=position).order_by("position")
            page = list(rows[:READ_ENTRIES])
        yield from page
        if len(page) < READ_ENTRIES:
            return
        position = page[-1].position


def list_history(
    workspace: Workspace,
    *,
    scopes: Sequence[UUID] | str | None,
    before: int | None = None,
    limit: int = 50,
) -> list[HistoryEntry]:
    """Newest first, by position; for people, never for a prompt."""
    with workspace_scope(workspace, scopes):
        rows = workspace.history_entries.order_by("-position")
        if scopes != ALL_SCOPES:
            rows = rows.filter(scope_id__in=[workspace.pk] if scopes is None else scopes)
        if before is not None:
            rows = rows.filter(position__lt=before)
        return list(rows[:limit])
