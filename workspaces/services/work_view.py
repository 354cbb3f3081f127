"""The ingest log and the job ledger as people read them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count
from django.db.models.functions import Left

from holamem.database.scope import workspace_scope
from workspaces.models.jobs import Job
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.paging import Page, read_page

EXCERPT_CHARACTERS = 240
MAX_CHUNKS = 50  # shown of one event; a text of 1 MB has hundreds
RETRYABLE = (Job.State.PARKED, Job.State.CANCELLED)
CANCELLABLE = (Job.State.READY, Job.State.PARKED)
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class ChunkRow:
    position: int
    outcome: str
    decision: str
    reason: str
    admission: float | None
    match: float | None
    create: float | None
    judged_by: str
    leaf_id: UUID | None


@dataclass(frozen=True, slots=True)
class EventRow:
    """`excerpt` is empty once retention or erasure removed the text."""

    id: UUID
    kind: str
    status: str
    actor: str
    source: str
    session_ref: str
    excerpt: str
    occurred_at: datetime | None
    received_at: datetime
    attempts: int
    error: str
    masked: list[str]
    chunks: list[ChunkRow]


@dataclass(frozen=True, slots=True)
class JobRow:
    id: UUID
    topic: str
    target_id: UUID
    state: str
    attempts: int
    error: str
    created_at: datetime
    next_try_at: datetime
    done_at: datetime | None
    can_retry: bool
    can_cancel: bool


def list_events(
    workspace: Workspace, *, scopes: Scopes, status: str, page: int, outcome: str = ""
) -> Page[EventRow]:
    """Newest first, each with the decision on every chunk. Two queries.

    `outcome`: only events with a chunk that came to this.
    """
    with workspace_scope(workspace, scopes):
        # Cut by the database: the texts of one page may be 25 MB.
        head = Left("payload_text", EXCERPT_CHARACTERS * 2)
        rows = workspace.events.defer("payload_text").annotate(head=head).order_by("-id")
        if status:
            rows = rows.filter(status=status)
        if outcome:
            rows = rows.filter(id__in=workspace.chunks.filter(outcome=outcome).values("event"))
        return read_page(rows, number=page).map(lambda events: _event_rows(workspace, events))


def list_jobs(workspace: Workspace, *, scopes: Scopes, state: str, page: int) -> Page[JobRow]:
    """Newest first. One query."""
    with workspace_scope(workspace, scopes):
        rows = workspace.jobs.order_by("-id")
        if state:
            rows = rows.filter(state=state)
        return read_page(rows, number=page).map(lambda jobs: [_job_row(job) for job in jobs])


def event_counts(workspace: Workspace, *, scopes: Scopes) -> dict[str, int]:
    with workspace_scope(workspace, scopes):
        rows = workspace.events.order_by().values("status").annotate(n=Count("id"))
        return dict(rows.values_list("status", "n"))


def job_counts(workspace: Workspace, *, scopes: Scopes) -> dict[str, int]:
    with workspace_scope(workspace, scopes):
        rows = workspace.jobs.order_by().values("state").annotate(n=Count("id"))
        return dict(rows.values_list("state", "n"))


def _event_rows(workspace: Workspace, events: Iterable[Event]) -> list[EventRow]:
    chunks: dict[UUID, list[ChunkRow]] = defaultdict(list)
    events = list(events)
    rows = workspace.chunks.filter(event__in=events, position__lt=MAX_CHUNKS).defer("text")
    for chunk in rows.order_by("event", "position"):
        chunks[chunk.event_id].append(_chunk_row(chunk))
    return [_event_row(event, chunks[event.id]) for event in events]


def _event_row(event: Event, chunks: list[ChunkRow]) -> EventRow:
    text = " ".join(str(getattr(event, "head", "")).split())
    cut = len(text) > EXCERPT_CHARACTERS
    return EventRow(
        id=event.id,
        kind=event.kind,
        status=event.status,
        actor=event.actor,
        source=event.source,
        session_ref=event.session_ref,
        excerpt=text[:EXCERPT_CHARACTERS] + ("…" if cut else ""),
        occurred_at=event.occurred_at,
        received_at=event.received_at,
        attempts=event.attempts,
        error=event.error,
        masked=list(event.masked_kinds),
        chunks=chunks,
    )


def _chunk_row(chunk: Chunk) -> ChunkRow:
    return ChunkRow(
        position=chunk.position,
        outcome=chunk.outcome,
        decision=chunk.decision,
        reason=chunk.reason,
        admission=chunk.admission_confidence,
        match=chunk.match_confidence,
        create=chunk.create_confidence,
        judged_by=chunk.judged_by,
        leaf_id=chunk.leaf_id,
    )


def _job_row(job: Job) -> JobRow:
    return JobRow(
        id=job.id,
        topic=job.topic,
        target_id=job.target_id,
        state=job.state,
        attempts=job.attempts,
        error=job.error,
        created_at=job.created_at,
        next_try_at=job.next_try_at,
        done_at=job.done_at,
        can_retry=job.state in RETRYABLE,
        can_cancel=job.state in CANCELLABLE,
    )
