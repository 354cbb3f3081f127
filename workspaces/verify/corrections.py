"""What people changed by hand: forgotten words stay unread, a moved leaf is in one place."""

from workspaces.verify.findings import Check, rows
from workspaces.verify.topology import RESTORE

FORGET_AGAIN = "Restore the leaf and forget it again."

# Every summary that a forgotten leaf went into, directly or through another summary.
_SPEAKS_OF_IT = """
WITH RECURSIVE made AS (
  SELECT s.id, s.withheld, child FROM workspaces_summarynode AS s, unnest(s.child_ids) AS child
   WHERE s.workspace_id = %(workspace)s),
covering AS (
  SELECT made.id, made.withheld FROM made
    JOIN workspaces_sourceleaf AS l ON l.workspace_id = %(workspace)s AND l.id = made.child
     AND l.forgotten_at IS NOT NULL
  UNION
  SELECT made.id, made.withheld FROM made JOIN covering ON made.child = covering.id)
SELECT id FROM covering WHERE NOT withheld
"""

CHECKS = (
    Check(
        "C1",
        "A summary that was written from a forgotten leaf is withheld, also once it is replaced.",
        rows("summary", _SPEAKS_OF_IT),
        FORGET_AGAIN,
    ),
    Check(
        "C2",
        "A withheld summary is quarantined or retired.",
        rows(
            "summary",
            "SELECT id, status FROM workspaces_summarynode WHERE workspace_id = %(workspace)s"
            " AND withheld AND status NOT IN ('quarantined', 'retired')",
        ),
        "Restore the rows from a backup, or rebuild the tree.",
    ),
    Check(
        "C3",
        "A leaf that was moved is current in one place at most, of one memory.",
        rows(
            "leaf",
            "SELECT l.id FROM workspaces_sourceleaf AS l"
            " JOIN workspaces_sourceleaf AS old ON old.id = l.moved_from_leaf_id"
            " WHERE l.workspace_id = %(workspace)s AND (old.scope_id <> l.scope_id"
            " OR (l.status = 'active' AND old.status = 'active'))",
        ),
        RESTORE,
    ),
    Check(
        "C4",
        "What takes a change back is named after it.",
        rows(
            "audit",
            "SELECT a.id, a.action FROM workspaces_audit AS a"
            " JOIN workspaces_audit AS undone ON undone.id = a.undoes_id"
            " WHERE a.workspace_id = %(workspace)s AND a.action <> undone.action || '.undone'",
        ),
        RESTORE,
    ),
)
