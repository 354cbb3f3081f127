"""Topology: every leaf in one tree, every edge inside it, every summary made of its children."""

# ruff: noqa: S608 - queries are put together from the constants of these modules only

from workspaces.verify.findings import Check, rows

RESEAL = "Queue a pass over the tree (`verify --fix`); if it stays, restore from a backup."
RESTORE = "Restore the rows from a backup; the database should have refused this."

LIVE = "('sealed', 'stale', 'quarantined')"
# Each recorded child of a summary, as the leaf or the summary that it is now.
RECORDED_CHILDREN = (
    " CROSS JOIN LATERAL unnest(s.child_ids) AS child"
    " LEFT JOIN workspaces_sourceleaf AS l ON l.id = child AND l.workspace_id = s.workspace_id"
    " LEFT JOIN workspaces_summarynode AS c ON c.id = child AND c.workspace_id = s.workspace_id"
)
NO_LIVE_JOB = (
    " NOT EXISTS (SELECT 1 FROM workspaces_job AS j WHERE j.topic = 'tree.dirty'"
    " AND j.target_id = {tree} AND j.state IN ('ready', 'running', 'parked'))"
)

CHECKS = (
    Check(
        "T1",
        "A leaf belongs to one tree of its own workspace, scope and category.",
        rows(
            "leaf",
            "SELECT l.id FROM workspaces_sourceleaf AS l"
            " LEFT JOIN workspaces_tree AS t ON t.id = l.tree_id"
            " WHERE l.workspace_id = %(workspace)s"
            " AND (t.workspace_id, t.scope_id, t.category)"
            " IS DISTINCT FROM (l.workspace_id, l.scope_id, l.category)",
        ),
        RESTORE,
    ),
    Check(
        "T2",
        "A tree has at most one current root.",
        rows(
            "tree",
            "SELECT tree_id, count(*) FROM workspaces_summarynode"
            f" WHERE workspace_id = %(workspace)s AND is_root AND status IN {LIVE}"
            " GROUP BY tree_id HAVING count(*) > 1",
        ),
        RESTORE,
    ),
    Check(
        "T3",
        "A tree's root is its own summary that is marked as the root, or there is neither.",
        rows(
            "tree",
            "SELECT t.id FROM workspaces_tree AS t"
            " LEFT JOIN workspaces_summarynode AS r ON r.tree_id = t.id AND r.is_root"
            f" AND r.status IN {LIVE}"
            " WHERE t.workspace_id = %(workspace)s AND t.root_id IS DISTINCT FROM r.id",
        ),
        RESEAL,
    ),
    Check(
        "T4",
        "No edge crosses a tree or a workspace.",
        rows(
            "node",
            "SELECT n.id FROM (SELECT id, workspace_id, tree_id, parent_id"
            " FROM workspaces_sourceleaf UNION ALL SELECT id, workspace_id, tree_id, parent_id"
            " FROM workspaces_summarynode) AS n"
            " JOIN workspaces_summarynode AS p ON p.id = n.parent_id"
            " WHERE n.workspace_id = %(workspace)s"
            " AND (p.workspace_id, p.tree_id) <> (n.workspace_id, n.tree_id)",
        ),
        RESTORE,
    ),
    Check(
        "T4",
        "The recorded children of a summary are leaves, or summaries, of its own tree.",
        rows(
            "summary",
            f"SELECT DISTINCT s.id FROM workspaces_summarynode AS s {RECORDED_CHILDREN}"
            " WHERE s.workspace_id = %(workspace)s AND COALESCE(CASE s.child_kind"
            " WHEN 'leaf' THEN l.tree_id ELSE c.tree_id END <> s.tree_id, true)",
        ),
        RESTORE,
    ),
    Check(
        "T5",
        "A child is lower than its parent, so that no cycle can be.",
        rows(
            "summary",
            "SELECT c.id FROM workspaces_summarynode AS c"
            " JOIN workspaces_summarynode AS p ON p.id = c.parent_id"
            " WHERE c.workspace_id = %(workspace)s AND c.height >= p.height"
            " UNION SELECT s.id FROM workspaces_summarynode AS s"
            f"{RECORDED_CHILDREN} WHERE s.workspace_id = %(workspace)s AND c.height >= s.height",
        ),
        RESTORE,
    ),
    Check(
        "T6",
        "A current summary has children.",
        rows(
            "summary",
            "SELECT id FROM workspaces_summarynode WHERE workspace_id = %(workspace)s"
            " AND status IN ('sealed', 'stale') AND cardinality(child_ids) = 0",
        ),
        RESEAL,
    ),
    Check(
        "T7",
        "A node is summarised by one current summary at most.",
        rows(
            "node",
            "SELECT child, count(*) FROM workspaces_summarynode AS s, unnest(s.child_ids) AS child"
            " WHERE s.workspace_id = %(workspace)s AND s.status = 'sealed'"
            " GROUP BY child HAVING count(*) > 1",
        ),
        RESEAL,
    ),
    Check(
        "T8",
        "A sealed summary was made from its stored child set.",
        rows(
            "summary",
            "SELECT s.id FROM workspaces_summarynode AS s"
            " WHERE s.workspace_id = %(workspace)s AND s.status = 'sealed'"
            " AND s.child_set_sha256 IS DISTINCT FROM (SELECT encode(sha256(convert_to("
            "string_agg(line, E'\\n' ORDER BY line COLLATE \"C\"), 'UTF8')), 'hex')"
            " FROM (SELECT child::text || ':' || COALESCE(l.body_sha256, c.body_sha256) AS line"
            " FROM unnest(s.child_ids) AS child"
            " LEFT JOIN workspaces_sourceleaf AS l ON l.id = child"
            " LEFT JOIN workspaces_summarynode AS c ON c.id = child) AS lines)",
        ),
        RESEAL,
    ),
    Check(
        "T8",
        "What a sealed summary was made from is still current and still hangs below it.",
        rows(
            "summary",
            f"SELECT DISTINCT s.id FROM workspaces_summarynode AS s {RECORDED_CHILDREN}"
            " WHERE s.workspace_id = %(workspace)s AND s.status = 'sealed'"
            " AND NOT COALESCE(l.status = 'active' AND l.parent_id = s.id,"
            " c.status = 'sealed' AND c.parent_id = s.id, false)",
        ),
        RESEAL,
    ),
    Check(
        "T8",
        "What hangs below a sealed summary is part of it.",
        rows(
            "summary",
            "SELECT s.id FROM workspaces_summarynode AS s"
            " WHERE s.workspace_id = %(workspace)s AND s.status = 'sealed' AND ("
            " EXISTS (SELECT 1 FROM workspaces_sourceleaf AS l WHERE l.parent_id = s.id"
            " AND l.status = 'active' AND l.id <> ALL (s.child_ids))"
            " OR EXISTS (SELECT 1 FROM workspaces_summarynode AS c WHERE c.parent_id = s.id"
            f" AND c.status IN {LIVE} AND c.id <> ALL (s.child_ids)))",
        ),
        RESEAL,
    ),
    Check(
        "T9",
        "An active leaf is in the buffer or below a current summary.",
        rows(
            "leaf",
            "SELECT l.id FROM workspaces_sourceleaf AS l"
            " JOIN workspaces_summarynode AS p ON p.id = l.parent_id"
            " WHERE l.workspace_id = %(workspace)s AND l.status = 'active'"
            " AND p.status = 'retired'",
        ),
        RESEAL,
    ),
    Check(
        "T9",
        "A current summary hangs below the root, or a pass over its tree is queued.",
        rows(
            "summary",
            "SELECT n.id FROM workspaces_summarynode AS n"
            " LEFT JOIN workspaces_summarynode AS p ON p.id = n.parent_id"
            f" WHERE n.workspace_id = %(workspace)s AND n.status IN {LIVE}"
            " AND (p.status = 'retired' OR (n.parent_id IS NULL AND NOT n.is_root"
            f" AND {NO_LIVE_JOB.format(tree='n.tree_id')}))",
        ),
        RESEAL,
    ),
    Check(
        "T10",
        "A full buffer has a pass over its tree queued.",
        rows(
            "tree",
            "SELECT l.tree_id, count(*) FROM workspaces_sourceleaf AS l"
            " WHERE l.workspace_id = %(workspace)s AND l.status = 'active'"
            f" AND l.parent_id IS NULL AND {NO_LIVE_JOB.format(tree='l.tree_id')}"
            " GROUP BY l.tree_id HAVING count(*) >= %(threshold)s",
        ),
        RESEAL,
    ),
    Check(
        "T11",
        "The time range of a sealed summary is that of what it was made from.",
        rows(
            "summary",
            "SELECT s.id FROM workspaces_summarynode AS s CROSS JOIN LATERAL ("
            "SELECT min(COALESCE(l.observed_at, c.time_range_start)) AS first,"
            " max(COALESCE(l.observed_at, c.time_range_end)) AS last"
            " FROM unnest(s.child_ids) AS child"
            " LEFT JOIN workspaces_sourceleaf AS l ON l.id = child"
            " LEFT JOIN workspaces_summarynode AS c ON c.id = child) AS below"
            " WHERE s.workspace_id = %(workspace)s AND s.status = 'sealed'"
            " AND (s.time_range_start, s.time_range_end, s.observed_at)"
            " IS DISTINCT FROM (below.first, below.last, below.last)",
        ),
        RESEAL,
    ),
    Check(
        "T12",
        "The primary entity of a leaf is its tree's, in the same workspace and scope.",
        rows(
            "leaf",
            "SELECT l.id FROM workspaces_sourceleaf AS l"
            " JOIN workspaces_tree AS t ON t.id = l.tree_id"
            " LEFT JOIN workspaces_entity AS e ON e.id = t.entity_id"
            " AND e.workspace_id = t.workspace_id AND e.scope_id = t.scope_id"
            " WHERE l.workspace_id = %(workspace)s AND (l.entity_id IS DISTINCT FROM t.entity_id"
            " OR (t.entity_id IS NOT NULL AND e.id IS NULL))",
        ),
        RESTORE,
    ),
)
