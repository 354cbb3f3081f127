"""Conversations: made, read, renamed, put away; and which run each is busy with."""

from collections.abc import Sequence
from uuid import UUID

from agents.hot.text_memory import frozen_indexes
from agents.models.conversations import DEFAULT_AGENT, Agent, Session
from agents.models.runs import ACTIVE_RUN, Run
from agents.services.agents import default_agent, get_agent
from agents.services.states import lock_session
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, InvalidInput, NotFound
from holamem.text.normalise import find_forbidden
from workspaces.models.tenancy import Workspace

__all__ = ["default_agent"]
Scopes = Sequence[UUID] | str | None

TITLE_CHARACTERS = 200


def session_scopes(session: Session) -> tuple[UUID, ...]:
    """What a step of this session sees: the shared scope and its own."""
    return tuple(sorted({session.workspace_id, session.scope_id}))


def create_session(
    workspace: Workspace, *, scope_id: UUID, agent_slug: str = DEFAULT_AGENT, title: str = ""
) -> Session:
    """With the indexes of this moment as its prefix. Raises NotFound, InvalidInput, Conflict."""
    agent = _open_agent(workspace, slug=agent_slug)
    session = Session(
        workspace=workspace, scope_id=scope_id, agent=agent, title=_checked_title(title)
    )
    with workspace_scope(workspace, session_scopes(session)):
        if scope_id != workspace.pk and not _is_end_user(workspace, scope_id=scope_id):
            raise NotFound("There is no such end user.")
        take_indexes(workspace, session=session)
        session.save(force_insert=True)
    return session


def _is_end_user(workspace: Workspace, *, scope_id: UUID) -> bool:
    return workspace.end_users.filter(id=scope_id, erased_at=None).exists()


def take_indexes(workspace: Workspace, *, session: Session) -> list[str]:
    """In the caller's step. The session is not saved; answers the names of what was set."""
    frozen = frozen_indexes(workspace, scope_id=session.scope_id)
    session.frozen_user_index = frozen.user
    session.frozen_workspace_index = frozen.workspace
    session.frozen_index_sha256 = frozen.sha256
    session.frozen_at = now()
    return ["frozen_user_index", "frozen_workspace_index", "frozen_index_sha256", "frozen_at"]


def _open_agent(workspace: Workspace, *, slug: str) -> Agent:
    agent = get_agent(workspace, slug=slug)
    if agent.archived_at is not None:
        raise Conflict("The agent is archived.", field="agent")
    return agent


def _checked_title(title: str) -> str:
    if len(title) > TITLE_CHARACTERS or find_forbidden(title) is not None:
        raise InvalidInput(f"A title has at most {TITLE_CHARACTERS} characters.", field="title")
    return title


def get_session(workspace: Workspace, *, scopes: Scopes, session_id: UUID) -> Session:
    """With its agent. Raises NotFound."""
    with workspace_scope(workspace, scopes):
        rows = workspace.sessions.select_related("agent")
        session = rows.filter(id=session_id).first()
    if session is None:
        raise NotFound("There is no such session.")
    return session


def update_session(
    workspace: Workspace,
    *,
    scopes: Scopes,
    session_id: UUID,
    title: str | None = None,
    agent_slug: str | None = None,
) -> Session:
    """Another agent is that of later runs. Raises NotFound, InvalidInput, Conflict."""
    agent = None if agent_slug is None else _open_agent(workspace, slug=agent_slug)
    with workspace_scope(workspace, scopes):
        session = lock_session(workspace, session_id=session_id)
        if title is not None:
            session.title = _checked_title(title)
        if agent is not None:
            session.agent = agent
        session.save(update_fields=["title", "agent", "updated_at"])
    return get_session(workspace, scopes=scopes, session_id=session_id)


def archive_session(workspace: Workspace, *, scopes: Scopes, session_id: UUID) -> Session:
    """Again is fine. Raises NotFound; Conflict while a run is active or waits in its queue."""
    with workspace_scope(workspace, scopes):
        session = lock_session(workspace, session_id=session_id)
        if session.status == Session.Status.ARCHIVED:
            return session
        if workspace.runs.filter(
            session=session, status__in=[*ACTIVE_RUN, Run.Status.QUEUED]
        ).exists():
            raise Conflict("A session with a run that has not ended cannot be archived.")
        session.status, session.archived_at = Session.Status.ARCHIVED, now()
        session.save(update_fields=["status", "archived_at", "updated_at"])
    return session


def claim_active_run(session: Session, run: Run) -> None:
    """In the caller's transaction, by compare-and-swap. Raises Conflict while another is active."""
    idle = session.workspace.sessions.filter(
        id=session.id, active_run_id=None, status=Session.Status.ACTIVE
    )
    if idle.update(active_run_id=run.id) != 1:
        raise Conflict("The session is busy with another run.")
    session.active_run_id = run.id


def clear_active_run(session: Session, run: Run) -> None:
    """In the caller's transaction; nothing when the session is not busy with this run."""
    busy = session.workspace.sessions.filter(id=session.id, active_run_id=run.id)
    if busy.update(active_run_id=None) == 1:
        session.active_run_id = None
