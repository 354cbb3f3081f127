"""Marks on the summary chain when something below it changes; inside the caller's step."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from django.db import connection

from holamem.database.statements import Statement, run_together
from workspaces.index.entries import drop_statements
from workspaces.models.entities import Entity
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LIVE_SUMMARIES, Tree
from workspaces.services.job_rows import NewJob, new_jobs_statement
from workspaces.services.jobs import add_job, wake_for

MIRROR_DUE = "~"

# One statement up to the root: the ORM has no recursive query.
_CHAIN = """
WITH RECURSIVE chain AS (
  SELECT id, parent_id FROM workspaces_summarynode
   WHERE workspace_id = %(workspace)s AND id = ANY(%(start)s)
  UNION
  SELECT above.id, above.parent_id FROM workspaces_summarynode AS above
    JOIN chain ON above.workspace_id = %(workspace)s AND above.id = chain.parent_id)
"""
_ANCESTORS = f"{_CHAIN} SELECT id FROM chain"  # noqa: S608 - a constant
# With their search entries, so that search needs no join to filter by it.
_MARK_STALE = f"""{_CHAIN.rstrip()},
stale AS (
  UPDATE workspaces_summarynode SET status = 'stale'
   WHERE workspace_id = %(workspace)s AND status = 'sealed' AND id IN (SELECT id FROM chain)
  RETURNING id),
vectors AS (
  UPDATE workspaces_vectorentry SET status = 'stale'
   WHERE workspace_id = %(workspace)s AND node_id IN (SELECT id FROM stale))
UPDATE workspaces_lexemeentry SET status = 'stale'
 WHERE workspace_id = %(workspace)s AND node_id IN (SELECT id FROM stale)
"""  # noqa: S608 - a constant
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
    ids = [node_id for node_id in start if node_id is not None]
    if ids:
        with connection.cursor() as cursor:
            cursor.execute(_MARK_STALE, {"workspace": workspace.pk, "start": ids})


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
    if not node_ids:
        return
    withheld = Statement(
        "UPDATE workspaces_summarynode SET withheld = true,"
        " status = CASE WHEN status = ANY(%s) THEN 'quarantined' ELSE status END"
        " WHERE workspace_id = %s AND id = ANY(%s::uuid[])",
        [[str(status) for status in LIVE_SUMMARIES], workspace.pk, list(node_ids)],
    )
    run_together([withheld, *drop_statements(workspace, node_ids=node_ids)])


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
    due = Statement(
        "UPDATE workspaces_tree SET mirrored_state = %s WHERE workspace_id = %s AND id = %s",
        [mirror_due(), workspace.pk, tree.id],
    )
    job = NewJob(Job.Topic.TREE_DIRTY, tree.id, tree.scope_id, priority=150)
    run_together([due, new_jobs_statement(workspace, jobs=[job])])
    wake_for([job])
