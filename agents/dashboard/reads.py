"""What the agents' pages read, in a fixed number of queries each."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Sum
from django.db.models.functions import Coalesce

from agents.models.runs import RunEvent
from holamem.database.scope import workspace_scope
from workspaces.models.tenancy import Workspace
from workspaces.services.paging import Page, read_page
from workspaces.services.tree_view import owner_names

Scopes = Sequence[UUID] | str | None
TIMELINE_EVENTS = 50
SHOWN_PAYLOAD = 4_000  # characters; the API has all of it


@dataclass(frozen=True, slots=True)
class SessionRow:
    """`run_status` is empty while the session is free."""

    id: UUID
    title: str
    status: str
    agent: str
    owner: str
    run_status: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class TimelineRow:
    seq: int
    type: str
    run_id: UUID | None
    payload: str
    is_cut: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SessionUsage:
    calls: int
    input_tokens: int
    output_tokens: int


def list_session_rows(
    workspace: Workspace, *, scopes: Scopes, status: str, page: int
) -> Page[SessionRow]:
    """The newest first; `status` empty: all."""
    with workspace_scope(workspace, scopes):
        rows = workspace.sessions.select_related("agent").order_by("-updated_at", "-id")
        rows = rows.filter(status=status) if status else rows
        found = read_page(rows.defer("frozen_user_index", "frozen_workspace_index"), number=page)
        owners = owner_names(workspace, scope_ids=[row.scope_id for row in found.rows])
        active = [row.active_run_id for row in found.rows if row.active_run_id]
        states = dict(workspace.runs.filter(id__in=active).values_list("session_id", "status"))
        return found.map(
            lambda sessions: [
                SessionRow(
                    id=row.id,
                    title=row.title,
                    status=row.status,
                    agent=row.agent.name,
                    owner=owners.get(row.scope_id) or "",
                    run_status=states.get(row.id, ""),
                    updated_at=row.updated_at,
                )
                for row in sessions
            ]
        )


def timeline_of(
    workspace: Workspace, *, scopes: Scopes, session_id: UUID, page: int
) -> Page[TimelineRow]:
    """Newest first."""
    with workspace_scope(workspace, scopes):
        rows = workspace.run_events.filter(session_id=session_id).order_by("-seq")
        found = read_page(rows, number=page, size=TIMELINE_EVENTS)
        return found.map(lambda events: [_timeline_row(event) for event in events])


def _timeline_row(event: RunEvent) -> TimelineRow:
    text, is_cut = shown_json(event.payload)
    return TimelineRow(event.seq, event.type, event.run_id, text, is_cut, event.created_at)


def shown_json(value: object) -> tuple[str, bool]:
    """Indented, and whether it was cut for display."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text[:SHOWN_PAYLOAD], len(text) > SHOWN_PAYLOAD


def session_usage(workspace: Workspace, *, scopes: Scopes, session_id: UUID) -> SessionUsage:
    with workspace_scope(workspace, scopes):
        sums = workspace.model_calls.filter(session_id=session_id).aggregate(
            calls=Count("id"),
            sent=Coalesce(Sum("input_tokens"), 0),
            received=Coalesce(Sum("output_tokens"), 0),
        )
    return SessionUsage(sums["calls"], sums["sent"], sums["received"])
