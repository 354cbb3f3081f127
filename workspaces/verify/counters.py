"""Derived columns: what is stored beside the rows that it can be counted from."""

# ruff: noqa: S608 - queries are put together from the constants of these modules only

from workspaces.verify.findings import Check, Severity, rows
from workspaces.verify.topology import LIVE, RESEAL

RECOUNT = "`verify --fix` counts again."

CHECKS = (
    Check(
        "D1",
        "A tree counts its active leaves.",
        rows(
            "tree",
            "SELECT t.id, t.leaf_count || ' stored, ' || counted.leaves || ' counted'"
            " FROM workspaces_tree AS t CROSS JOIN LATERAL (SELECT count(*) AS leaves"
            " FROM workspaces_sourceleaf AS l WHERE l.workspace_id = t.workspace_id"
            " AND l.tree_id = t.id AND l.status = 'active') AS counted"
            " WHERE t.workspace_id = %(workspace)s AND t.leaf_count <> counted.leaves",
        ),
        RECOUNT,
        Severity.WARNING,
    ),
    Check(
        "D2",
        "The height of a tree is its root's.",
        rows(
            "tree",
            "SELECT t.id FROM workspaces_tree AS t"
            " LEFT JOIN workspaces_summarynode AS r ON r.id = t.root_id"
            " WHERE t.workspace_id = %(workspace)s AND t.height <> COALESCE(r.height, 0)",
        ),
        RESEAL,
    ),
    Check(
        "D3",
        "The level of a summary counts down from the root.",
        rows(
            "summary",
            "SELECT s.id FROM workspaces_summarynode AS s"
            " JOIN workspaces_tree AS t ON t.id = s.tree_id"
            f" WHERE s.workspace_id = %(workspace)s AND s.status IN {LIVE}"
            " AND s.level <> greatest(1, t.height - s.height + 1)",
        ),
        RESEAL,
    ),
    Check(
        "D4",
        "A sealed summary counts the leaves that it was made from.",
        rows(
            "summary",
            "SELECT s.id FROM workspaces_summarynode AS s CROSS JOIN LATERAL ("
            "SELECT sum(COALESCE(c.leaf_count, 1)) AS leaves FROM unnest(s.child_ids) AS child"
            " LEFT JOIN workspaces_summarynode AS c ON c.id = child) AS below"
            " WHERE s.workspace_id = %(workspace)s AND s.status = 'sealed'"
            " AND s.leaf_count IS DISTINCT FROM below.leaves",
        ),
        RECOUNT,
        Severity.WARNING,
    ),
)
