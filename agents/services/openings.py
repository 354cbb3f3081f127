"""Beginning a session for whoever asks."""

from functools import partial
from uuid import UUID

from agents.models.conversations import DEFAULT_AGENT, Session
from agents.services.sessions import create_session
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import InvalidInput, NotFound
from workspaces.models.tenancy import Workspace
from workspaces.services.end_users import check_ref, ensure_end_user
from workspaces.services.intake import refuse_secret_names
from workspaces.services.principals import Principal


def open_session(
    workspace: Workspace,
    *,
    principal: Principal,
    user_id: str | None = None,
    agent_slug: str = DEFAULT_AGENT,
    title: str = "",
) -> Session:
    """Of the end user `user_id`, made when new; of nobody without one. A key of one end user
    opens that one's.

    An agent that is not there is the default one. Raises NotFound, InvalidInput, Conflict.
    """
    scope_id = _scope_of(workspace, principal=principal, user_id=user_id)
    begin = partial(create_session, workspace, scope_id=scope_id, title=title)
    try:
        return begin(agent_slug=agent_slug)
    except NotFound:
        return begin()


def _scope_of(workspace: Workspace, *, principal: Principal, user_id: str | None) -> UUID:
    if principal.end_user_id is not None:
        if user_id not in (None, principal.end_user_ref):
            raise NotFound("There is no such end user.", field="user_id")
        return principal.end_user_id
    if user_id is None:
        if workspace.preferences.user_id == "required":
            raise InvalidInput("This workspace requires a user_id.", field="user_id")
        return workspace.id
    if user_id == ALL_SCOPES:
        raise InvalidInput("A session is of one end user.", field="user_id")
    refuse_secret_names(user_id=user_id)
    check_ref(user_id)
    with workspace_scope(workspace):
        return ensure_end_user(workspace, ref=user_id)
