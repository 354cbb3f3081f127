"""A message that a client adds to a conversation without asking anybody anything."""

from uuid import UUID

from agents.events.append import append_event
from agents.models.conversations import Message, Session
from agents.models.runs import RunEvent
from agents.services.messages import insert_message, message_payload
from agents.services.runs import Scopes, check_content
from agents.services.states import lock_session
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict
from holamem.ids import new_id
from workspaces.models.tenancy import Workspace

# A tool's message stands behind the call of a model, and a system's is the agent's own prompt.
POSTED_ROLES = (Message.Role.USER, Message.Role.ASSISTANT)


def post_message(
    workspace: Workspace, *, scopes: Scopes, session_id: UUID, role: str, content: str
) -> Message:
    """`role` is one of POSTED_ROLES. Raises InvalidInput naming the field, NotFound.

    Raises Conflict for an archived session, and while a run is active: what a model has asked
    for and what it got stand together.
    """
    check_content(content)
    with workspace_scope(workspace, scopes):
        session = lock_session(workspace, session_id=session_id)
        if session.status != Session.Status.ACTIVE:
            raise Conflict("The session is archived.")
        if session.active_run_id is not None:
            raise Conflict("The session is busy with a run.")
        message_id = new_id()
        event = append_event(
            workspace,
            session=session,
            type=RunEvent.Type.MESSAGE_CREATED,
            payload=message_payload(message_id, content=content, role=role),
        )
        return insert_message(
            workspace,
            session=session,
            role=role,
            content=content,
            event_seq=event.seq,
            id=message_id,
        )
