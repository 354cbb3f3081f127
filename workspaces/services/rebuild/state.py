"""The state of a tree that its bodies do not tell: what a sidecar mirrors, read in one statement.

Bodies say what a node was at birth. Left to mirror are the tree and its entity, leaves whose
state does not follow from who supersedes whom, and the summaries that everything else hangs
below. What grows with the tree is left out, so that the file stays small.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from workspaces.models.tenancy import Workspace

# One round trip, in one snapshot, as sorted JSON: the ORM would take six. Each part starts at the
# few rows that it is about (OFFSET 0 keeps the planner from starting at the many).
#
# leaves: those that are not active, unless exactly their living successor explains it. The
#   tombstone of an erased leaf is the only record that it was there.
# tops: live summaries without a sealed parent; below a sealed one all recorded children live.
# returned: leaves that are in the buffer although they were there before the root was sealed.
_STATE = """
SELECT t.id, t.mirrored_state, jsonb_build_object(
  'tree', jsonb_build_object(
    'id', t.id, 'key', t.key, 'title', t.title, 'category', t.category, 'scope', t.scope_id,
    'provider', t.provider, 'account', t.account, 'root', t.root_id, 'created_at', t.created_at),
  'entity', (SELECT jsonb_build_object(
      'id', e.id, 'type', e.type, 'slug', e.slug, 'name', e.name, 'aliases', e.aliases,
      'description', e.description, 'is_system', e.is_system, 'merged_into', e.merged_into_id,
      'created_at', e.created_at)
    FROM workspaces_entity AS e WHERE e.workspace_id = t.workspace_id AND e.id = t.entity_id),
  'end_user', (SELECT jsonb_build_object(
      'id', u.id, 'ref', u.ref, 'slug', u.slug, 'name', u.name, 'created_at', u.created_at,
      'erased_at', u.erased_at)
    FROM workspaces_enduser AS u WHERE u.workspace_id = t.workspace_id AND u.id = t.scope_id),
  'leaves', (SELECT coalesce(jsonb_agg(jsonb_build_object(
      'id', l.id, 'status', CASE l.status WHEN 'erasing' THEN 'erased' ELSE l.status END,
      'superseded_by', l.superseded_by_id,
      'valid_until', l.valid_until, 'forgotten_at', l.forgotten_at,
      'tombstone', CASE WHEN l.status IN ('erasing', 'erased') THEN jsonb_build_object(
        'origin', l.origin_kind, 'session', l.session_ref, 'policies', jsonb_build_object(
          'verification', l.verification_policy, 'staleness', l.staleness_policy,
          'stale_after_days', l.stale_after_days),
        'observed_at', l.observed_at, 'created_at', l.created_at,
        'fingerprint', l.fingerprint, 'body_sha256', l.body_sha256, 'body_bytes', l.body_bytes,
        'supersedes', l.supersedes_leaf_id, 'moved_from', l.moved_from_leaf_id,
        'chunk', l.chunk_id, 'confidence', l.confidence, 'trust', l.trust,
        'language', l.language) END) ORDER BY l.id), '[]'::jsonb)
    FROM workspaces_sourceleaf AS l
    LEFT JOIN workspaces_sourceleaf AS next ON next.workspace_id = t.workspace_id
      AND next.supersedes_leaf_id = l.id AND next.status IN ('active', 'superseded')
    WHERE l.workspace_id = t.workspace_id AND l.tree_id = t.id
      AND l.status <> 'active'
      AND (l.status, l.superseded_by_id, l.valid_until, l.forgotten_at)
        IS DISTINCT FROM ('superseded', next.id, next.observed_at, NULL)),
  'tops', (SELECT coalesce(jsonb_agg(jsonb_build_object(
      'id', s.id, 'status', s.status, 'withheld', s.withheld) ORDER BY s.id), '[]'::jsonb)
    FROM (SELECT id, status, withheld FROM workspaces_summarynode AS alone
           WHERE alone.workspace_id = t.workspace_id AND alone.tree_id = t.id
             AND alone.status = 'sealed' AND alone.parent_id IS NULL
          UNION ALL SELECT id, status, withheld FROM workspaces_summarynode AS behind
           WHERE behind.workspace_id = t.workspace_id AND behind.tree_id = t.id
             AND behind.status IN ('stale', 'quarantined')
          UNION ALL SELECT below.id, below.status, below.withheld
            FROM (SELECT id FROM workspaces_summarynode AS behind
                   WHERE behind.workspace_id = t.workspace_id AND behind.tree_id = t.id
                     AND behind.status IN ('stale', 'quarantined') OFFSET 0) AS above
            CROSS JOIN LATERAL (SELECT id, status, withheld FROM workspaces_summarynode AS child
                   WHERE child.workspace_id = t.workspace_id AND child.parent_id = above.id
                     AND child.status = 'sealed' OFFSET 0) AS below) AS s),
  'returned', (SELECT coalesce(jsonb_agg(l.id ORDER BY l.id), '[]'::jsonb)
    FROM workspaces_sourceleaf AS l
    WHERE l.workspace_id = t.workspace_id AND l.tree_id = t.id AND l.status = 'active'
      AND l.parent_id IS NULL AND l.created_at < (SELECT r.sealed_at
        FROM workspaces_summarynode AS r
        WHERE r.workspace_id = t.workspace_id AND r.id = t.root_id))
)::text
  FROM workspaces_tree AS t WHERE t.workspace_id = %s AND t.id = ANY(%s::uuid[])
"""


@dataclass(frozen=True, slots=True)
class TreeState:
    """`values` is plain JSON; `digest` is over its text as the database writes it."""

    values: dict[str, object]
    digest: str
    mirrored: str

    @property
    def is_mirrored(self) -> bool:
        return self.digest == self.mirrored


def tree_state(workspace: Workspace, *, tree_id: UUID) -> TreeState | None:
    """None when there is no such tree. Inside the caller's step."""
    return tree_states(workspace, tree_ids=[tree_id]).get(tree_id)


def tree_states(workspace: Workspace, *, tree_ids: Sequence[UUID]) -> dict[UUID, TreeState]:
    """By tree; without those that are gone. Inside the caller's step."""
    with connection.cursor() as cursor:
        cursor.execute(_STATE, [workspace.pk, list(tree_ids)])
        rows = cursor.fetchall()
    return {
        tree_id: TreeState(json.loads(text), hashlib.sha256(text.encode()).hexdigest(), mirrored)
        for tree_id, mirrored, text in rows
    }
