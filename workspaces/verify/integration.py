"""The integration category: memory holds what the latest revision of each object says, and no more."""

# ruff: noqa: S608 - queries are put together from the constants of these modules only

from workspaces.verify.findings import Check, Severity, rows

SEND_AGAIN = "Send the object's latest revision again."

# Objects whose events are all processed, each with its latest one.
SETTLED = """
(SELECT DISTINCT ON (e.scope_id, e.provider, e.account, e.source, e.external_id)
        e.id, e.deleted, e.scope_id, e.provider, e.account, e.source, e.external_id
   FROM workspaces_event AS e
  WHERE e.workspace_id = %(workspace)s AND e.category = 'integration'
    AND NOT EXISTS (SELECT 1 FROM workspaces_event AS open
                     WHERE open.workspace_id = %(workspace)s AND open.category = 'integration'
                       AND open.status <> 'processed'
                       AND (open.scope_id, open.provider, open.account, open.source,
                            open.external_id)
                         = (e.scope_id, e.provider, e.account, e.source, e.external_id))
  ORDER BY e.scope_id, e.provider, e.account, e.source, e.external_id,
           coalesce(e.confirmed_at, e.occurred_at, e.received_at) DESC, e.id DESC)
"""

CHECKS = (
    Check(
        "I1",
        "A leaf and the events behind it are of one category, provider and account.",
        rows(
            "leaf",
            "SELECT DISTINCT l.id FROM workspaces_leafsource AS s"
            " JOIN workspaces_sourceleaf AS l ON l.id = s.leaf_id"
            " JOIN workspaces_tree AS t ON t.id = l.tree_id"
            " JOIN workspaces_event AS e ON e.id = s.event_id"
            " WHERE s.workspace_id = %(workspace)s AND (l.category <> e.category"
            " OR (l.category = 'integration'"
            " AND (t.provider, t.account) <> (e.provider, e.account)))",
        ),
        "Forget the leaf, and send both texts again.",
    ),
    Check(
        "I2",
        "A current leaf of an outside system is said by the latest revision of an object.",
        rows(
            "leaf",
            "SELECT l.id FROM workspaces_sourceleaf AS l"
            " WHERE l.workspace_id = %(workspace)s AND l.category = 'integration'"
            " AND l.status = 'active' AND NOT EXISTS (SELECT 1 FROM workspaces_leafsource AS s"
            " JOIN workspaces_event AS e ON e.id = s.event_id WHERE s.leaf_id = l.id"
            f" AND (e.id IN (SELECT latest.id FROM {SETTLED} AS latest)"
            " OR EXISTS (SELECT 1 FROM workspaces_event AS open"
            " WHERE open.workspace_id = %(workspace)s AND open.category = 'integration'"
            " AND open.status <> 'processed'"
            " AND (open.scope_id, open.provider, open.account, open.source, open.external_id)"
            " = (e.scope_id, e.provider, e.account, e.source, e.external_id))))",
        ),
        SEND_AGAIN,
    ),
    Check(
        "I3",
        "What the latest revision of an object says is current, unless a person took it out.",
        rows(
            "leaf",
            f"SELECT DISTINCT l.id, l.status FROM {SETTLED} AS latest"
            " JOIN workspaces_chunk AS c ON c.event_id = latest.id"
            " JOIN workspaces_sourceleaf AS l ON l.id = c.leaf_id"
            " WHERE NOT latest.deleted AND l.status NOT IN ('active', 'erasing', 'erased')"
            " AND l.forgotten_at IS NULL",
        ),
        SEND_AGAIN,
    ),
    Check(
        "I4",
        "What a connector saw of an object is in the log.",
        rows(
            "connector_object",
            "SELECT o.id FROM workspaces_connectorobject AS o"
            " JOIN workspaces_connector AS k ON k.id = o.connector_id"
            " LEFT JOIN workspaces_event AS e ON e.workspace_id = o.workspace_id"
            " AND e.id = o.event_id WHERE o.workspace_id = %(workspace)s"
            " AND (e.scope_id, e.provider, e.account, e.external_id, e.deleted) IS DISTINCT FROM"
            " (k.scope_id, k.provider, k.account, o.external_id, o.is_deleted)",
        ),
        "Clear the object's `version` and synchronise again.",
    ),
    Check(
        "I5",
        "A pass over an outside system that is queued or runs has a job.",
        rows(
            "connector",
            "SELECT k.id, k.status FROM workspaces_connector AS k"
            " WHERE k.workspace_id = %(workspace)s AND k.status IN ('queued', 'running')"
            " AND NOT EXISTS (SELECT 1 FROM workspaces_job AS j WHERE j.topic = 'connector.sync'"
            " AND j.target_id = k.id AND j.state IN ('ready', 'running'))",
        ),
        "Start a worker: its sweep marks the pass as failed.",
        Severity.WARNING,
    ),
)
