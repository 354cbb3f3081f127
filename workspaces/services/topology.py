"""Marks on the summary chain when something below it changes; inside the caller's step."""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from workspaces.index.entries import set_entry_status
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SummaryNode, Tree
from workspaces.services.jobs import add_job

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


def request_seal(workspace: Workspace, *, tree: Tree) -> None:
    """Queue a pass over the tree: seal what is due, replace what is stale."""
    add_job(
        workspace,
        topic=Job.Topic.TREE_DIRTY,
        target_id=tree.id,
        scope_id=tree.scope_id,
        priority=150,
    )
