"""The invariants of distillation."""

from workspaces.verify.findings import Check, rows
from workspaces.verify.run import register_checks

CHECKS = (
    Check(
        "L9",
        "Each distillation that failed has its raw messages in the history.",
        rows(
            "distillation",
            "SELECT d.id FROM agents_distillation AS d WHERE d.workspace_id = %(workspace)s"
            " AND d.status = 'failed' AND NOT EXISTS ("
            "SELECT 1 FROM agents_distillation AS f JOIN agents_historyentry AS h"
            " ON h.workspace_id = f.workspace_id AND h.id = f.history_entry_id"
            " WHERE f.workspace_id = d.workspace_id AND f.session_id = d.session_id"
            " AND f.from_seq <= d.from_seq AND f.id <= d.id AND f.to_seq >= d.to_seq)",
        ),
        "Restore a backup: the messages of the session are there still.",
    ),
    Check(
        "H4",
        "What was distilled of a session ends at its cursor, and no two passes overlap.",
        rows(
            "session",
            "SELECT s.id FROM agents_session AS s WHERE s.workspace_id = %(workspace)s"
            " AND s.distilled_seq <> coalesce((SELECT max(d.to_seq) FROM agents_distillation AS d"
            " WHERE d.workspace_id = s.workspace_id AND d.session_id = s.id"
            " AND d.status <> 'failed'), 0)"
            " UNION SELECT d.session_id FROM agents_distillation AS d JOIN agents_distillation AS o"
            " ON o.workspace_id = d.workspace_id AND o.session_id = d.session_id AND o.id <> d.id"
            " AND o.status <> 'failed' AND int8range(o.from_seq, o.to_seq, '(]')"
            " && int8range(d.from_seq, d.to_seq, '(]')"
            " WHERE d.workspace_id = %(workspace)s AND d.status <> 'failed'",
        ),
        "Set the cursor to where the last pass ended.",
    ),
    Check(
        "H5",
        "Each distilled statement names results of its session's calls that succeeded.",
        rows(
            "distillation",
            "SELECT d.id FROM agents_distillation AS d"
            " CROSS JOIN LATERAL jsonb_array_elements(d.statements) AS one"
            " WHERE d.workspace_id = %(workspace)s AND d.status <> 'failed'"
            " AND (jsonb_array_length(one -> 'message_ids') = 0 OR EXISTS ("
            "SELECT 1 FROM jsonb_array_elements_text(one -> 'message_ids') AS named"
            " WHERE NOT EXISTS (SELECT 1 FROM agents_message AS m JOIN agents_toolcall AS c"
            " ON c.workspace_id = m.workspace_id AND c.run_id = m.run_id AND c.turn_id = m.turn_id"
            " AND c.call_id = m.tool_call_id WHERE m.workspace_id = d.workspace_id"
            " AND m.session_id = d.session_id AND m.id::text = named AND c.status = 'succeeded')))",
        ),
        "Delete the statement's line from its topic and forget its leaf.",
    ),
)


def register() -> None:
    """Called once when the app is ready."""
    register_checks(CHECKS)
