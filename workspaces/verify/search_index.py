"""The search index: one vector and one lexeme row for every node that may be found, no other."""

# ruff: noqa: S608 - queries are put together from the constants of these modules only

from workspaces.verify.findings import Check, rows

REINDEX = "`verify --fix` queues the node; `manage.py reindex` rebuilds all lexemes."
REEMBED = "`verify --fix` queues the node; `manage.py reembed` rebuilds all vectors."

# Every node that may be found: its id, state and where it belongs.
NODES = (
    "(SELECT id, workspace_id, scope_id, tree_id, status, body_sha256, 'leaf' AS kind"
    " FROM workspaces_sourceleaf WHERE workspace_id = %(workspace)s"
    " AND status IN ('active', 'superseded')"
    " UNION ALL SELECT id, workspace_id, scope_id, tree_id, status, body_sha256, 'summary'"
    " FROM workspaces_summarynode WHERE workspace_id = %(workspace)s"
    " AND status IN ('sealed', 'stale'))"
)
ENTRIES = (
    "(SELECT workspace_id, scope_id, tree_id, status, kind, node_id"
    " FROM workspaces_vectorentry WHERE workspace_id = %(workspace)s"
    " UNION ALL SELECT workspace_id, scope_id, tree_id, status, kind, node_id"
    " FROM workspaces_lexemeentry WHERE workspace_id = %(workspace)s)"
)

CHECKS = (
    Check(
        "E1",
        "A node that may be found has a vector, or a job that makes it.",
        rows(
            "node",
            f"SELECT n.id FROM {NODES} AS n WHERE NOT EXISTS ("
            "SELECT 1 FROM workspaces_vectorentry AS v WHERE v.workspace_id = n.workspace_id"
            " AND v.node_id = n.id) AND NOT EXISTS (SELECT 1 FROM workspaces_job AS j"
            " WHERE j.topic = 'node.created' AND j.target_id = n.id"
            " AND j.state IN ('ready', 'running', 'parked'))",
        ),
        REEMBED,
    ),
    Check(
        "E2",
        "A vector is of the current model, of its dimension, and of the body as it is.",
        rows(
            "node",
            "SELECT v.node_id FROM workspaces_vectorentry AS v"
            " JOIN workspaces_embeddingmodel AS m ON m.id = v.model_id"
            f" JOIN {NODES} AS n ON n.id = v.node_id"
            " WHERE v.workspace_id = %(workspace)s AND (NOT m.is_current"
            " OR vector_dims(v.embedding) <> m.dimension OR v.source_sha256 <> n.body_sha256)",
        ),
        REEMBED,
    ),
    Check(
        "E3",
        "Nothing that was forgotten, erased or retired is in the search index.",
        rows(
            "node",
            f"SELECT DISTINCT e.node_id FROM {ENTRIES} AS e"
            f" LEFT JOIN {NODES} AS n ON n.id = e.node_id WHERE n.id IS NULL",
        ),
        "`verify --fix` removes the entries.",
    ),
    Check(
        "E4",
        "A search entry has the workspace, scope, tree, kind and status of its node.",
        rows(
            "node",
            f"SELECT DISTINCT e.node_id FROM {ENTRIES} AS e JOIN {NODES} AS n ON n.id = e.node_id"
            " WHERE (e.workspace_id, e.scope_id, e.tree_id, e.kind, e.status)"
            " IS DISTINCT FROM (n.workspace_id, n.scope_id, n.tree_id, n.kind, n.status)",
        ),
        "Run `manage.py reindex` and `manage.py reembed`.",
    ),
    Check(
        "E5",
        "No vector is zero or not a number.",
        rows(
            "node",
            "SELECT node_id FROM workspaces_vectorentry WHERE workspace_id = %(workspace)s"
            " AND NOT (l2_norm(embedding) BETWEEN 0.9 AND 1.1)",
        ),
        REEMBED,
    ),
    Check(
        "E6",
        "A node that may be found has a lexeme row with its scope lexeme.",
        rows(
            "node",
            f"SELECT n.id FROM {NODES} AS n LEFT JOIN workspaces_lexemeentry AS x"
            " ON x.workspace_id = n.workspace_id AND x.node_id = n.id"
            " WHERE x.id IS NULL OR NOT x.lexemes @@ ("
            "'''§' || replace(n.workspace_id::text || n.scope_id::text, '-', '') || '''')::tsquery",
        ),
        REINDEX,
    ),
)
