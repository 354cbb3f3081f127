"""What the agents keep of an end user, for the person's own export."""

from typing import Any

from agents.hot.text_memory import list_text_memories
from holamem.database.scope import workspace_scope
from workspaces.models.tenancy import EndUser, Workspace
from workspaces.services.end_user_view import register_exporter


def register() -> None:
    """Called once when the app is ready."""
    register_exporter("conversations", conversations)
    register_exporter("text_memory", text_memory)


def conversations(workspace: Workspace, user: EndUser) -> list[dict[str, Any]]:
    """The oldest first, with the messages that are not hidden in their order."""
    with workspace_scope(workspace, [user.id]):
        sessions = list(workspace.sessions.filter(scope_id=user.id).order_by("id"))
        said: dict[Any, list[dict[str, Any]]] = {session.id: [] for session in sessions}
        rows = workspace.messages.filter(scope_id=user.id, deleted_at=None)
        for row in rows.order_by("session_id", "event_seq", "id"):
            message = {"role": row.role, "text": row.content, "at": row.created_at.isoformat()}
            said[row.session_id].append(message)
    return [
        {
            "session_id": str(session.id),
            "title": session.title,
            "created_at": session.created_at.isoformat(),
            "messages": said[session.id],
        }
        for session in sessions
    ]


def text_memory(workspace: Workspace, user: EndUser) -> list[dict[str, Any]]:
    rows = list_text_memories(workspace, scopes=[user.id], scope_id=user.id)
    return [
        {
            "kind": row.kind,
            "name": row.name,
            "text": row.content,
            "version": row.version,
            "updated_at": row.updated_at.isoformat(),
        }
        for row in rows
    ]
