"""What became of an event: the decision for each chunk, and waiting for it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services import waiting

POLL_SECONDS = 0.05
POLL_SECONDS_MAX = 0.5
SETTLED = frozenset({Event.Status.PROCESSED, Event.Status.DEAD})


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """`entity` is the primary entity's name; ids and tree are None when there is no leaf."""

    position: int
    outcome: str
    admission_confidence: float | None
    reason: str
    leaf_id: UUID | None
    tree_id: UUID | None
    tree_key: str | None
    entity: str | None
    decision: str | None


@dataclass(frozen=True, slots=True)
class EventResult:
    event_id: UUID
    status: str
    kind: str
    category: str
    occurred_at: datetime | None
    received_at: datetime
    attempts: int
    error: str
    chunks: list[ChunkResult]

    @property
    def is_settled(self) -> bool:
        return self.status in SETTLED


Scopes = Sequence[UUID] | str | None


def event_result(workspace: Workspace, *, scopes: Scopes, event_id: UUID) -> EventResult:
    """State of one event with its chunks in order; pending chunks are left out."""
    with workspace_scope(workspace, scopes):
        event = workspace.events.filter(id=event_id).first()
        if event is None:
            raise NotFound("There is no such event.")
        chunks = list(
            workspace.chunks.filter(event_id=event_id)
            .exclude(outcome=Chunk.Outcome.PENDING)
            .select_related("leaf__tree", "leaf__entity")
            .order_by("position")
        )
        return EventResult(
            event_id=event.id,
            status=event.status,
            kind=event.kind,
            category=event.category,
            occurred_at=event.occurred_at,
            received_at=event.received_at,
            attempts=event.attempts,
            error=event.error,
            chunks=[chunk_result(chunk) for chunk in chunks],
        )


def chunk_result(chunk: Chunk) -> ChunkResult:
    leaf = chunk.leaf
    return ChunkResult(
        position=chunk.position,
        outcome=chunk.outcome,
        admission_confidence=chunk.admission_confidence,
        reason=chunk.reason,
        leaf_id=leaf.id if leaf else None,
        tree_id=leaf.tree_id if leaf else None,
        tree_key=leaf.tree.key if leaf else None,
        entity=leaf.entity.name if leaf and leaf.entity else None,
        decision=chunk.decision or None,
    )


def wait_for_event(
    workspace: Workspace, *, scopes: Scopes, event_id: UUID, timeout_seconds: float
) -> EventResult:
    """The result once it is settled, or as it stands at the deadline.

    Without a place to wait it is as at the deadline. Holds no database connection while it waits:
    many waiting callers must not starve others.
    """
    with waiting.places.place(workspace.tenant_id) as may_wait:
        seconds = timeout_seconds if may_wait else 0.0
        return _waited(workspace, scopes=scopes, event_id=event_id, timeout_seconds=seconds)


def _waited(
    workspace: Workspace, *, scopes: Scopes, event_id: UUID, timeout_seconds: float
) -> EventResult:
    deadline = time.monotonic() + timeout_seconds
    pause = POLL_SECONDS
    while True:
        result = event_result(workspace, scopes=scopes, event_id=event_id)
        if result.is_settled or time.monotonic() >= deadline:
            return result
        if not connection.in_atomic_block:
            connection.close()
        time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(pause * 1.3, POLL_SECONDS_MAX)
