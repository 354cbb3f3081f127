"""Marks on the summary chain when something below it changes; inside the caller's step."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from django.db import connection

from workspaces.index.entries import drop_entries, set_entry_status
from workspaces.models.entities import Entity
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LIVE_SUMMARIES, SummaryNode, Tree
from workspaces.services.jobs import add_job

MIRROR_DUE = "~"

# One statement up to the root: the ORM has no recursive query.
_ANCESTORS = """
WITH RECURSIVE chain AS (
  SELECT id, parent_id FROM workspaces_summarynode
   WHERE workspace_id = %(workspace)s AND id = ANY(%(start)s)
  UNION
  SELECT above.id, above.parent_id FROM workspaces_summarynode AS above
    JOIN chain ON above.workspace_id = %(workspace)s AND above.id = chain.parent_id)
SELECT id FROM chain
"""
# By what each summary was written from: a retired one has no parent to walk along.
_COVERING = """
WITH RECURSIVE covering AS (
  SELECT id FROM workspaces_summarynode
   WHERE workspace_id = %(workspace)s AND tree_id = %(tree)s AND child_ids && %(leaves)s::uuid[]
  UNION
  SELECT above.id FROM workspaces_summarynode AS above
    JOIN covering ON above.workspace_id = %(workspace)s AND above.tree_id = %(tree)s
     AND covering.id = ANY (above.child_ids))
SELECT id FROM covering
"""


def ancestor_ids(workspace: Workspace, *, start: Sequence[UUID | None]) -> list[UUID]:
    """These summaries and everything above them, up to the root."""
    ids = [node_id for node_id in start if node_id is not None]
    if not ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_ANCESTORS, {"workspace": workspace.pk, "start": ids})
        return [row[0] for row in cursor.fetchall()]


def mark_chain_stale(workspace: Workspace, *, start: Sequence[UUID | None]) -> None:
    """A sealed chain above a leaf that was replaced: still readable, and known to be behind."""
    stale = list(
        workspace.summaries.filter(
            id__in=ancestor_ids(workspace, start=start), status=SummaryNode.Status.SEALED
        ).values_list("id", flat=True)
    )
    workspace.summaries.filter(id__in=stale).update(status=SummaryNode.Status.STALE)
    set_entry_status(workspace, node_ids=stale, status=SummaryNode.Status.STALE)


def mark_chain_quarantined(workspace: Workspace, *, start: Sequence[UUID | None]) -> None:
    """A sealed chain above a leaf that nobody may read any more: unread and out of search."""
    _quarantine(workspace, node_ids=ancestor_ids(workspace, start=start))


def quarantine_covering(workspace: Workspace, *, tree_id: UUID, leaf_ids: Sequence[UUID]) -> None:
    """Every summary of the tree that was written from one of these leaves, replaced ones too.

    Wider than the chain of parents: a summary may be behind its own replaced children.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _COVERING, {"workspace": workspace.pk, "tree": tree_id, "leaves": list(leaf_ids)}
        )
        covering = [row[0] for row in cursor.fetchall()]
    _quarantine(workspace, node_ids=covering)


def _quarantine(workspace: Workspace, *, node_ids: Sequence[UUID]) -> None:
    """The next pass replaces what is live like a stale one; `withheld` stays when it retires."""
    workspace.summaries.filter(id__in=node_ids).update(withheld=True)
    workspace.summaries.filter(id__in=node_ids, status__in=LIVE_SUMMARIES).update(
        status=SummaryNode.Status.QUARANTINED
    )
    drop_entries(workspace, node_ids=node_ids)


def request_rejudge(workspace: Workspace, *, entity: Entity) -> None:
    """Queue another look at what waits without a subject: this entity is new, or has a new name.

    Without a wake-up: it follows a write, whose own jobs wake a worker.
    """
    add_job(
        workspace,
        topic=Job.Topic.ENTITY_CHANGED,
        target_id=entity.id,
        scope_id=entity.scope_id,
        priority=200,
        wake=False,
    )


def mirror_due() -> str:
    """Says in place of a digest that the tree changed; no two are alike, so that none is missed."""
    return f"{MIRROR_DUE}{uuid4().hex}"


def request_seal(workspace: Workspace, *, tree: Tree) -> None:
    """Queue a pass over the tree: seal what is due, replace what is stale, mirror what changed."""
    workspace.trees.filter(id=tree.id).update(mirrored_state=mirror_due())
    add_job(
        workspace,
        topic=Job.Topic.TREE_DIRTY,
        target_id=tree.id,
        scope_id=tree.scope_id,
        priority=150,
    )
