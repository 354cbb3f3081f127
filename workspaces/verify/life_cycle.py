"""Life cycle: what took whose place, what is stale, what was retired, what was proved."""

# ruff: noqa: S608 - queries are put together from the constants of these modules only

from collections.abc import Iterator
from datetime import UTC, datetime

from django.db import connection

from holamem.database.scope import system_scope
from workspaces.bodies import BodyCorrupt, BodyMissing, read_markdown
from workspaces.judging.base import ChunkContext
from workspaces.judging.offline_admission import claims_execution
from workspaces.models.tenancy import Workspace
from workspaces.verify.findings import Check, Severity, Violation, rows
from workspaces.verify.topology import LIVE, NO_LIVE_JOB, RESEAL, RESTORE

# Leaves whose claim of an execution no successful tool result of the workspace proves.
UNPROVED = """
SELECT l.id, l.origin_kind, l.body_path FROM workspaces_sourceleaf AS l
  JOIN workspaces_leafsource AS s ON s.leaf_id = l.id AND s.is_creator
  JOIN workspaces_event AS e ON e.id = s.event_id
 WHERE l.workspace_id = %(workspace)s AND l.category = 'interaction'
   AND l.status IN ('active', 'superseded')
   AND l.origin_kind IN ('assistant_turn', 'distilled_statement')
   AND NOT EXISTS (SELECT 1 FROM workspaces_event AS proof
                    WHERE proof.workspace_id = e.workspace_id AND proof.scope_id = e.scope_id
                      AND proof.id = ANY (e.evidence_event_ids)
                      AND proof.kind = 'tool_result' AND proof.succeeded)
"""


def unproved_executions(workspace: Workspace) -> Iterator[Violation]:
    """The words decide whether a leaf claims an execution, so its body is read outside the step."""
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(UNPROVED, {"workspace": workspace.pk})
        candidates = cursor.fetchall()
    for leaf_id, kind, path in candidates:
        try:
            text = read_markdown(path)
        except (BodyMissing, BodyCorrupt):
            continue  # B1 and B7 name it
        if claims_execution(_as_chunk(text, kind=kind)):
            yield Violation(f"leaf:{leaf_id}", kind)


def _as_chunk(text: str, *, kind: str) -> ChunkContext:
    return ChunkContext(
        text=text,
        kind=kind,
        actor="",
        language="en",
        occurred_at=datetime.now(UTC),
        session_ref="",
        succeeded=None,
        has_execution_evidence=False,
        earlier_user_texts=(),
        previous_turn=None,
        workspace_name="",
    )


CHECKS = (
    Check(
        "L1",
        "A leaf takes the place of an older one of its tree, which is not active and names it.",
        rows(
            "leaf",
            "SELECT l.id FROM workspaces_sourceleaf AS l"
            " JOIN workspaces_sourceleaf AS old ON old.id = l.supersedes_leaf_id"
            " WHERE l.workspace_id = %(workspace)s AND (old.tree_id <> l.tree_id"
            " OR old.created_at > l.created_at OR old.observed_at > l.observed_at"
            " OR old.status = 'active' OR (old.status = 'superseded'"
            " AND old.superseded_by_id IS DISTINCT FROM l.id))",
        ),
        RESTORE,
    ),
    Check(
        "L1",
        "A superseded leaf names its successor, of the same tree, and until when it was valid.",
        rows(
            "leaf",
            "SELECT l.id FROM workspaces_sourceleaf AS l"
            " LEFT JOIN workspaces_sourceleaf AS next ON next.id = l.superseded_by_id"
            " WHERE l.workspace_id = %(workspace)s AND l.status = 'superseded'"
            " AND (l.valid_until IS NULL OR next.tree_id IS DISTINCT FROM l.tree_id)",
        ),
        RESTORE,
    ),
    Check(
        "L2",
        "A chain of successors does not fork.",
        rows(
            "leaf",
            "SELECT supersedes_leaf_id, count(*) FROM workspaces_sourceleaf"
            " WHERE workspace_id = %(workspace)s AND supersedes_leaf_id IS NOT NULL"
            " GROUP BY supersedes_leaf_id HAVING count(*) > 1",
        ),
        RESTORE,
    ),
    Check(
        "L2",
        "A chain of successors ends; it never turns back on itself.",
        rows(
            "leaf",
            "WITH RECURSIVE ended AS (SELECT id FROM workspaces_sourceleaf"
            " WHERE workspace_id = %(workspace)s AND superseded_by_id IS NULL"
            " UNION SELECT l.id FROM workspaces_sourceleaf AS l"
            " JOIN ended ON l.superseded_by_id = ended.id)"
            " SELECT id FROM workspaces_sourceleaf AS l WHERE workspace_id = %(workspace)s"
            " AND NOT EXISTS (SELECT 1 FROM ended WHERE ended.id = l.id)",
        ),
        RESTORE,
    ),
    Check(
        "L3",
        "A tree holds a text as one active leaf at most.",
        rows(
            "tree",
            "SELECT tree_id, fingerprint FROM workspaces_sourceleaf"
            " WHERE workspace_id = %(workspace)s AND status = 'active'"
            " GROUP BY tree_id, fingerprint HAVING count(*) > 1",
        ),
        RESTORE,
    ),
    Check(
        "L4",
        "A leaf was observed at a real moment.",
        rows(
            "leaf",
            "SELECT id FROM workspaces_sourceleaf WHERE workspace_id = %(workspace)s"
            " AND (observed_at IS NULL OR NOT isfinite(observed_at)"
            " OR observed_at < '1970-01-01T00:00:00Z')",
        ),
        RESTORE,
    ),
    Check(
        "L4",
        "A leaf was observed no later than a day after it was written.",
        rows(
            "leaf",
            "SELECT id, observed_at FROM workspaces_sourceleaf WHERE workspace_id = %(workspace)s"
            " AND observed_at > created_at + interval '24 hours'",
        ),
        "Correct the leaf with the right time.",
        Severity.WARNING,
    ),
    Check(
        "L5",
        "A summary that is behind has a pass over its tree queued, or parked with a reason.",
        rows(
            "summary",
            "SELECT s.id, s.status FROM workspaces_summarynode AS s"
            " WHERE s.workspace_id = %(workspace)s AND s.status IN ('stale', 'quarantined')"
            f" AND {NO_LIVE_JOB.format(tree='s.tree_id')}",
        ),
        RESEAL,
    ),
    Check(
        "L6",
        "A retired summary is no root and has no place in the tree.",
        rows(
            "summary",
            "SELECT s.id FROM workspaces_summarynode AS s"
            " WHERE s.workspace_id = %(workspace)s AND s.status = 'retired'"
            " AND (s.is_root OR s.parent_id IS NOT NULL OR s.retired_at IS NULL"
            f" OR EXISTS (SELECT 1 FROM workspaces_summarynode AS c WHERE c.parent_id = s.id"
            f" AND c.status IN {LIVE}))",
        ),
        RESEAL,
    ),
    Check(
        "L6",
        "A summary that was replaced is retired, and once only.",
        rows(
            "summary",
            "SELECT old.id FROM workspaces_summarynode AS s"
            " JOIN workspaces_summarynode AS old ON old.id = s.replaces_id"
            " WHERE s.workspace_id = %(workspace)s"
            " GROUP BY old.id, old.status HAVING old.status <> 'retired' OR count(*) > 1",
        ),
        RESEAL,
    ),
    Check(
        "L7",
        "What a failed execution returned is not remembered.",
        rows(
            "leaf",
            "SELECT DISTINCT s.leaf_id FROM workspaces_leafsource AS s"
            " JOIN workspaces_event AS e ON e.id = s.event_id"
            " JOIN workspaces_sourceleaf AS l ON l.id = s.leaf_id"
            " WHERE s.workspace_id = %(workspace)s AND e.kind = 'tool_result'"
            " AND e.succeeded = false AND l.status IN ('active', 'superseded')",
        ),
        "Forget the leaf.",
    ),
    Check(
        "L7",
        "A leaf that claims an execution names a successful tool result.",
        unproved_executions,
        "Forget the leaf.",
    ),
)
