"""What was said: written once with its event, indexed in the same commit, hidden but never removed."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from agents.events.append import append_event
from agents.hot.message_index import drop_message, index_message
from agents.models.conversations import Message, Session
from agents.models.runs import RunEvent
from agents.services.states import lock_session
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from holamem.text.secrets import mask_secrets
from workspaces.models.tenancy import Workspace

Scopes = Sequence[UUID] | str | None

PAGE_MESSAGES = 100


def insert_message(
    workspace: Workspace,
    *,
    session: Session,
    role: str,
    content: str,
    event_seq: int,
    **fields: Any,
) -> Message:
    """In the caller's transaction, which has appended the event of `event_seq`.

    `fields`: run_id, turn_id, tool_calls, tool_call_id, is_partial, prefix_sha256, id. Secrets in
    the content are masked; a committed message is findable at once.
    """
    message = Message(
        workspace=workspace,
        scope_id=session.scope_id,
        session=session,
        role=role,
        content=mask_secrets(content).text,
        event_seq=event_seq,
        created_at=now(),
        **{**fields, "tool_calls": list(fields.get("tool_calls", ()))},
    )
    message.save(force_insert=True)
    index_message(workspace, message=message)
    return message


def list_messages(
    workspace: Workspace,
    *,
    scopes: Scopes,
    session_id: UUID,
    limit: int = PAGE_MESSAGES,
    before: int | None = None,
) -> tuple[list[Message], int]:
    """The last `limit` that are not hidden, in their order, and the event up to which they count.

    `before`: only those whose event comes before this one. Raises NotFound.
    """
    with workspace_scope(workspace, scopes):
        # The session first: a message that is written in between is then in the stream.
        session = workspace.sessions.filter(id=session_id).first()
        if session is None:
            raise NotFound("There is no such session.")
        rows = workspace.messages.filter(
            session_id=session_id, deleted_at=None, event_seq__lte=session.last_event_seq
        )
        if before is not None:
            rows = rows.filter(event_seq__lt=before)
        newest = list(rows.order_by("-event_seq", "-id")[:limit])
    return newest[::-1], session.last_event_seq


def delete_message(
    workspace: Workspace, *, scopes: Scopes, session_id: UUID, message_id: UUID
) -> Message:
    """Hide it from readers, models and the search; its row and its events stay.

    Again is fine and appends no second event. Raises NotFound.
    """
    with workspace_scope(workspace, scopes):
        session = lock_session(workspace, session_id=session_id)
        message = workspace.messages.filter(id=message_id, session_id=session_id).first()
        if message is None:
            raise NotFound("There is no such message.")
        if message.deleted_at is None:
            _hide(workspace, session=session, message=message)
    return message


def _hide(workspace: Workspace, *, session: Session, message: Message) -> None:
    append_event(
        workspace,
        session=session,
        type=RunEvent.Type.MESSAGE_DELETED,
        payload={"message_id": str(message.id)},
    )
    message.deleted_at = now()
    message.save(update_fields=["deleted_at"])
    drop_message(workspace, message=message)


def message_payload(message_id: UUID, *, content: str, **more: Any) -> Mapping[str, Any]:
    """What the event of a message tells a client."""
    return {"message_id": str(message_id), "content": mask_secrets(content).text, **more}
