"""Lists of conversations and runs for programs, page by page."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet

from agents.hot.text_memory import list_text_memories
from agents.models.conversations import Message, Session
from agents.models.hot_memory import HistoryEntry, TextMemory
from agents.models.runs import Approval, Run, ToolCall
from holamem.database.scope import workspace_scope
from workspaces.models.tenancy import Workspace
from workspaces.services.listing import Listed, Slice, read_slice, slice_rows
from workspaces.services.tree_view import owner_names

Scopes = Sequence[UUID] | str | None


def page_of_sessions(
    workspace: Workspace, *, scopes: Scopes, wanted: Slice, status: str | None = None
) -> Listed[Session]:
    """Those made last first, with their agents."""
    with workspace_scope(workspace, scopes):
        rows = workspace.sessions.select_related("agent")
        if status is not None:
            rows = rows.filter(status=status)
        return read_slice(rows, wanted=wanted, newest_first=True)


def page_of_messages(
    workspace: Workspace, *, session: Session, wanted: Slice
) -> tuple[Listed[Message], int]:
    """Newest first, without hidden ones; and the event up to which they count.

    The session is read before them: a message that is written in between is then in the stream.
    """
    with workspace_scope(workspace, [session.scope_id]):
        present = workspace.sessions.get(id=session.id)
        rows = workspace.messages.filter(
            session=session, deleted_at=None, event_seq__lte=present.last_event_seq
        )
        return _by_event(rows, session=session, wanted=wanted), present.last_event_seq


def _by_event(rows: QuerySet[Message], *, session: Session, wanted: Slice) -> Listed[Message]:
    """As `read_slice`, by the order of events: of two ids of one moment either may be larger."""
    forwards = "gt" if wanted.backwards else "lt"
    if wanted.after is not None:
        place = session.messages.filter(id=wanted.after).values_list("event_seq", flat=True).first()
        rows = rows.filter(**{f"event_seq__{forwards}": place or 0})
    found = list(
        rows.order_by("event_seq" if wanted.backwards else "-event_seq")[: wanted.limit + 1]
    )
    more, found = len(found) > wanted.limit, found[: wanted.limit]
    if wanted.backwards:
        return Listed(found[::-1], has_next=True, has_previous=more)
    return Listed(found, has_next=more, has_previous=wanted.after is not None)


def page_of_runs(workspace: Workspace, *, session: Session, wanted: Slice) -> Listed[Run]:
    """Newest first."""
    with workspace_scope(workspace, [session.scope_id]):
        rows = workspace.runs.filter(session=session)
        return read_slice(rows, wanted=wanted, newest_first=True)


def calls_of_run(workspace: Workspace, *, run: Run) -> list[ToolCall]:
    """In the order of their asking."""
    with workspace_scope(workspace, [run.scope_id]):
        return list(workspace.tool_calls.filter(run=run).order_by("id"))


def page_of_approvals(
    workspace: Workspace, *, scopes: Scopes, wanted: Slice, status: str | None = None
) -> Listed[Approval]:
    """Newest first."""
    with workspace_scope(workspace, scopes):
        rows = workspace.approvals.all()
        if status is not None:
            rows = rows.filter(status=status)
        return read_slice(rows, wanted=wanted, newest_first=True)


def calls_of_approvals(
    workspace: Workspace, *, scopes: Scopes, approvals: Sequence[Approval]
) -> dict[UUID, list[ToolCall]]:
    """The calls of each, in the order of their asking; one read for a page."""
    wanted = {UUID(call_id): row.id for row in approvals for call_id in row.tool_call_ids}
    found: dict[UUID, list[ToolCall]] = {row.id: [] for row in approvals}
    with workspace_scope(workspace, scopes):
        for call in workspace.tool_calls.filter(id__in=list(wanted)).order_by("position"):
            found[wanted[call.id]].append(call)
    return found


def page_of_text_memories(
    workspace: Workspace, *, scopes: Scopes, wanted: Slice
) -> Listed[TextMemory]:
    """By scope, each index before its topics, by name. Few enough to be read whole."""
    return slice_rows(list_text_memories(workspace, scopes=scopes), wanted=wanted)


def page_of_history(workspace: Workspace, *, scopes: Scopes, wanted: Slice) -> Listed[HistoryEntry]:
    """Newest first."""
    with workspace_scope(workspace, scopes):
        rows = workspace.history_entries.all()
        return read_slice(rows, wanted=wanted, newest_first=True)


def names_of(workspace: Workspace, *, scope_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The end user's own id behind each scope; what is nobody's is not in the answer."""
    with workspace_scope(workspace):
        return owner_names(workspace, scope_ids=scope_ids)
