"""Events in the form of server-sent events, and reading them so."""

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from agents.events.replay import event_data, events_after
from agents.models.conversations import Session
from agents.models.runs import RunEvent
from holamem.database.scope import system_scope
from workspaces.models.tenancy import Workspace

# Rows of one read. The memory of a replay, however long it is.
PAGE_EVENTS = 200
RETRY = b"retry: 2000\n\n"  # ms until a client that was cut off comes back
HEARTBEAT = b": alive\n\n"
RESUME = b": ended here; come again with the last id as Last-Event-ID\n\n"


@dataclass(frozen=True, slots=True)
class Frame:
    """`read_at` is a monotonic time: what the row says may be erased since."""

    seq: int
    data: bytes
    read_at: float


@dataclass(frozen=True, slots=True)
class Source:
    """The session that is followed; `last_seq` was its newest event when it was looked up."""

    workspace: Workspace
    session_id: UUID
    scope_id: UUID
    last_seq: int


def source_of(workspace: Workspace, *, session: Session) -> Source:
    return Source(workspace, session.id, session.scope_id, session.last_event_seq)


def read_frames(source: Source, *, after: int) -> list[Frame]:
    """The next events by seq, at most PAGE_EVENTS; empty at the end."""
    events = events_after(
        source.workspace,
        scopes=[source.scope_id],
        session_id=source.session_id,
        after=after,
        limit=PAGE_EVENTS,
    )
    return [_frame(event) for event in events]


def last_seqs(session_ids: Iterable[UUID]) -> dict[UUID, int]:
    """Of sessions of any workspace: only numbers leave here, for those who follow already."""
    with system_scope():
        rows = Session.objects.filter(id__in=list(session_ids))
        return dict(rows.values_list("id", "last_event_seq"))


def _frame(event: RunEvent) -> Frame:
    """JSON writes line ends as escapes, so the data is one line."""
    data = json.dumps(event_data(event), ensure_ascii=False, separators=(",", ":"))
    text = f"id: {event.seq}\nevent: {event.type}\ndata: {data}\n\n"
    return Frame(event.seq, text.encode(), time.monotonic())
