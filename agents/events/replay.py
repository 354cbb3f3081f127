"""Reading a session's log again, from any number on."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from agents.models.runs import RunEvent
from holamem.database.scope import workspace_scope
from workspaces.models.tenancy import Workspace

PAGE_EVENTS = 500


def events_after(
    workspace: Workspace,
    *,
    scopes: Sequence[UUID] | str | None,
    session_id: UUID,
    after: int,
    limit: int = PAGE_EVENTS,
) -> list[RunEvent]:
    """The next `limit` events by seq; empty at the end, and for a session that is not theirs."""
    with workspace_scope(workspace, scopes):
        newer = workspace.run_events.filter(session_id=session_id, seq__gt=after)
        return list(newer.order_by("seq")[:limit])


def event_data(event: RunEvent) -> dict[str, Any]:
    """What a client is told, in JSON's own types."""
    return {
        "event_id": str(event.id),
        "session_id": str(event.session_id),
        "run_id": _text(event.run_id),
        "turn_id": _text(event.turn_id),
        "seq": event.seq,
        "type": event.type,
        "payload": event.payload,
        "created_at": event.created_at.isoformat(),
    }


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)
