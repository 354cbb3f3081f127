"""Versions of one memory follow each other in time."""

from workspaces.verify.findings import Check, rows
from workspaces.verify.topology import RESTORE

# Versions share the end of their chain of successors. One that was never in force, because the
# newer one had been stated before and after it, ends where it begins and is left out.
_OVERLAPPING = """
WITH RECURSIVE version AS (
  SELECT head.id, head.id AS head FROM workspaces_sourceleaf AS head
   WHERE head.workspace_id = %(workspace)s AND head.superseded_by_id IS NULL
     AND EXISTS (SELECT 1 FROM workspaces_sourceleaf AS l WHERE l.superseded_by_id = head.id)
  UNION
  SELECT l.id, version.head FROM workspaces_sourceleaf AS l
    JOIN version ON l.superseded_by_id = version.id AND l.status = 'superseded')
SELECT id FROM (
  SELECT l.id, l.valid_until, lead(l.observed_at)
         OVER (PARTITION BY version.head ORDER BY l.observed_at, l.created_at) AS next_at
    FROM version JOIN workspaces_sourceleaf AS l ON l.id = version.id
   WHERE l.valid_until IS NULL OR l.valid_until > l.observed_at) AS ordered
 WHERE next_at < valid_until
"""

CHECKS = (
    Check(
        "L1",
        "No two versions of one memory are valid at the same time.",
        rows("leaf", _OVERLAPPING),
        RESTORE,
    ),
)
