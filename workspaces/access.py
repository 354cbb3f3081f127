"""From an id or a key to a row: at the workspace, in scope, or NotFound."""

from collections.abc import Sequence
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from workspaces.models.entities import Entity
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import Tree

Scopes = Sequence[UUID] | str | None


def get_tree(
    workspace: Workspace, *, scopes: Scopes, key: str | None = None, tree_id: UUID | None = None
) -> Tree:
    """By key or by id. A key that a private and the shared scope have both is the private one."""
    with workspace_scope(workspace, scopes):
        rows = workspace.trees.select_related("entity")
        rows = rows.filter(key=key) if tree_id is None else rows.filter(id=tree_id)
        found = list(rows[:50])
    if not found:
        raise NotFound("There is no such tree.")
    private = [tree for tree in found if tree.scope_id != workspace.id]
    return (private or found)[0]


def get_entity(workspace: Workspace, *, scopes: Scopes, slug: str) -> Entity:
    """By slug, merged ones too. Of a private and a shared one it is the private."""
    with workspace_scope(workspace, scopes):
        found = list(workspace.entities.select_related("merged_into").filter(slug=slug)[:50])
    if not found:
        raise NotFound("There is no such entity.")
    private = [entity for entity in found if entity.scope_id != workspace.id]
    return (private or found)[0]


def get_job(workspace: Workspace, *, scopes: Scopes, job_id: UUID) -> Job:
    with workspace_scope(workspace, scopes):
        job = workspace.jobs.filter(id=job_id).first()
    if job is None:
        raise NotFound("There is no such job.")
    return job
