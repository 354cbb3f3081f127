"""The only way from an id to a row: at the workspace, in scope, or NotFound."""

from collections.abc import Sequence
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from workspaces.models.entities import Entity
from workspaces.models.jobs import Job
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree

Scopes = Sequence[UUID] | str | None
HIDDEN_LEAVES = (SourceLeaf.Status.ERASING, SourceLeaf.Status.ERASED)


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


def get_leaf(workspace: Workspace, *, scopes: Scopes, leaf_id: UUID) -> SourceLeaf:
    with workspace_scope(workspace, scopes):
        leaf = (
            workspace.leaves.select_related("tree", "entity", "chunk__event", "parent")
            .filter(id=leaf_id)
            .exclude(status__in=HIDDEN_LEAVES)
            .first()
        )
    if leaf is None:
        raise NotFound("There is no such leaf.")
    return leaf


def get_summary(workspace: Workspace, *, scopes: Scopes, summary_id: UUID) -> SummaryNode:
    """A quarantined summary still speaks what was forgotten, so it does not exist for readers."""
    with workspace_scope(workspace, scopes):
        node = (
            workspace.summaries.select_related("tree", "parent")
            .filter(id=summary_id)
            .exclude(status=SummaryNode.Status.QUARANTINED)
            .first()
        )
    if node is None:
        raise NotFound("There is no such summary.")
    return node


def get_event(workspace: Workspace, *, scopes: Scopes, event_id: UUID) -> Event:
    with workspace_scope(workspace, scopes):
        event = workspace.events.filter(id=event_id).first()
    if event is None:
        raise NotFound("There is no such event.")
    return event


def get_entity(workspace: Workspace, *, scopes: Scopes, slug: str) -> Entity:
    with workspace_scope(workspace, scopes):
        entity = workspace.entities.filter(slug=slug).first()
    if entity is None:
        raise NotFound("There is no such entity.")
    return entity


def get_job(workspace: Workspace, *, scopes: Scopes, job_id: UUID) -> Job:
    with workspace_scope(workspace, scopes):
        job = workspace.jobs.filter(id=job_id).first()
    if job is None:
        raise NotFound("There is no such job.")
    return job
