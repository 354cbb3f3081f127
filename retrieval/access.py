"""From an id to a row of the read side: at the workspace, in scope, or NotFound."""

from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from retrieval.models import RetrievalLog
from retrieval.types import Scopes
from workspaces.models.tenancy import Workspace


def get_retrieval(workspace: Workspace, *, scopes: Scopes, retrieval_id: UUID) -> RetrievalLog:
    with workspace_scope(workspace, scopes):
        found = workspace.retrievals.filter(id=retrieval_id).first()
    if found is None:
        raise NotFound("There is no such retrieval.")
    return found
