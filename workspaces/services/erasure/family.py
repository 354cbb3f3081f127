"""What goes with a leaf: its history, its copies, and every summary that speaks of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q

from workspaces.models.tenancy import Workspace
from workspaces.models.trees import GONE_LEAVES, SourceLeaf

# Both directions of supersession and of moves, whatever trees they lead through. Raw SQL: the
# ORM has no recursive query. LATERAL, so that each link is one probe of an index.
_HISTORY = """
WITH RECURSIVE history AS (
  SELECT id, supersedes_leaf_id, superseded_by_id, moved_from_leaf_id
    FROM workspaces_sourceleaf WHERE workspace_id = %(workspace)s AND id = ANY(%(start)s)
  UNION
  SELECT linked.* FROM history AS h CROSS JOIN LATERAL (
    SELECT l.id, l.supersedes_leaf_id, l.superseded_by_id, l.moved_from_leaf_id
      FROM workspaces_sourceleaf AS l WHERE l.workspace_id = %(workspace)s
       AND l.id IN (h.supersedes_leaf_id, h.superseded_by_id, h.moved_from_leaf_id)
    UNION ALL
    SELECT l.id, l.supersedes_leaf_id, l.superseded_by_id, l.moved_from_leaf_id
      FROM workspaces_sourceleaf AS l WHERE l.workspace_id = %(workspace)s
       AND l.supersedes_leaf_id = h.id
    UNION ALL
    SELECT l.id, l.supersedes_leaf_id, l.superseded_by_id, l.moved_from_leaf_id
      FROM workspaces_sourceleaf AS l WHERE l.workspace_id = %(workspace)s
       AND l.superseded_by_id = h.id
    UNION ALL
    SELECT l.id, l.supersedes_leaf_id, l.superseded_by_id, l.moved_from_leaf_id
      FROM workspaces_sourceleaf AS l WHERE l.workspace_id = %(workspace)s
       AND l.moved_from_leaf_id = h.id) AS linked)
SELECT id FROM history
"""

# By what each summary was written from, replaced ones too. The edges are read once: an array
# that is searched again for every pair takes seconds in a tree of ten thousand leaves.
_COVERING = """
WITH RECURSIVE edges AS MATERIALIZED (
  SELECT s.id, child FROM workspaces_summarynode AS s CROSS JOIN LATERAL unnest(s.child_ids) AS child
   WHERE s.workspace_id = %(workspace)s AND s.tree_id = ANY(%(trees)s)),
covering AS (
  SELECT id FROM edges WHERE child = ANY(%(leaves)s)
  UNION
  SELECT above.id FROM edges AS above JOIN covering ON above.child = covering.id)
SELECT id FROM covering
"""


def family_of(
    workspace: Workspace, *, leaf_ids: Sequence[UUID], only_these: bool, before: datetime
) -> list[SourceLeaf]:
    """Leaves whose text is to go, in order of id; those that are gone already are left out.

    With the whole history also every other leaf of the scope with the same text, in whichever
    tree: otherwise the words would still be read there, or restored from there. What was first
    said after `before` is another statement.
    """
    ids = list(leaf_ids) if only_these else _history_ids(workspace, leaf_ids=leaf_ids)
    found = list(workspace.leaves.filter(id__in=ids))
    if found and not only_these:
        found += _copies(workspace, of=found, before=before)
    present = {leaf.id: leaf for leaf in found if leaf.status not in GONE_LEAVES}
    return [present[leaf_id] for leaf_id in sorted(present)]


def _history_ids(workspace: Workspace, *, leaf_ids: Sequence[UUID]) -> list[UUID]:
    values: dict[str, Any] = {"workspace": workspace.pk, "start": list(leaf_ids)}
    with connection.cursor() as cursor:
        cursor.execute(_HISTORY, values)
        return [row[0] for row in cursor.fetchall()]


def _copies(
    workspace: Workspace, *, of: Sequence[SourceLeaf], before: datetime
) -> list[SourceLeaf]:
    was_said = Q(created_at__lte=before) | Q(chunk__event__received_at__lte=before)
    same = workspace.leaves.filter(was_said, fingerprint__in={leaf.fingerprint for leaf in of})
    same = same.filter(scope_id__in={leaf.scope_id for leaf in of})
    trees = workspace.trees.values("id")  # with the tree, the index on fingerprints serves it
    return list(same.filter(tree__in=trees).exclude(id__in=[leaf.id for leaf in of]))


def covering_ids(
    workspace: Workspace, *, tree_ids: Sequence[UUID], leaf_ids: Sequence[UUID]
) -> list[UUID]:
    """Every summary that was written from these leaves, directly or through other summaries."""
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "trees": list(tree_ids),
        "leaves": list(leaf_ids),
    }
    with connection.cursor() as cursor:
        cursor.execute(_COVERING, values)
        return [row[0] for row in cursor.fetchall()]
