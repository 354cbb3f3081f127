"""Sessions for tests of what stands above or below the services that make them."""

from uuid import UUID

from agents.events.append import append_event
from agents.models.conversations import Agent, Session
from agents.models.runs import RunEvent
from holamem.database.scope import workspace_scope
from workspaces.models.tenancy import Workspace

DELTA = RunEvent.Type.ASSISTANT_DELTA


def make_session(workspace: Workspace, *, scope_id: UUID | None = None) -> Session:
    scope = scope_id or workspace.id
    with workspace_scope(workspace, [scope]):
        agent, _ = Agent.objects.get_or_create(
            workspace=workspace, slug="default", defaults={"name": "Default"}
        )
        return Session.objects.create(workspace=workspace, scope_id=scope, agent=agent)


def tell(session: Session, *words: str) -> list[RunEvent]:
    """One committed event for each word."""
    return [_told(session, word) for word in words]


def tell_many(session: Session, *, count: int) -> None:
    """In one commit."""
    with workspace_scope(session.workspace, [session.scope_id]):
        for number in range(count):
            append_event(
                session.workspace, session=session, type=DELTA, payload={"text": str(number)}
            )


def _told(session: Session, word: str) -> RunEvent:
    with workspace_scope(session.workspace, [session.scope_id]):
        return append_event(session.workspace, session=session, type=DELTA, payload={"text": word})
