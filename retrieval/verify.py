"""The invariants of the gap ledger and the retrieval log."""

from workspaces.verify.findings import Check, Severity, rows
from workspaces.verify.run import register_checks

REASK = "Ask the question again: it opens a gap of its own."

CHECKS = (
    Check(
        "G1",
        "An answered gap names the leaf that answered it, of its own scope or the shared one.",
        rows(
            "gap",
            "SELECT g.id FROM retrieval_gap AS g"
            " LEFT JOIN workspaces_sourceleaf AS l ON l.id = g.answered_by_id"
            " AND l.workspace_id = g.workspace_id"
            " AND l.scope_id IN (g.scope_id, g.workspace_id)"
            " WHERE g.workspace_id = %(workspace)s AND g.answered_by_id IS NOT NULL"
            " AND l.id IS NULL",
        ),
        REASK,
    ),
    Check(
        "G2",
        "A gap is open without an end, or closed with one.",
        rows(
            "gap",
            "SELECT id, status FROM retrieval_gap WHERE workspace_id = %(workspace)s"
            " AND ((status = 'open') <> (closed_at IS NULL)"
            " OR (status = 'open' AND answered_by_id IS NOT NULL))",
        ),
        REASK,
    ),
    Check(
        "G3",
        "A question has one open gap in a scope.",
        rows(
            "gap",
            "SELECT min(id::text), count(*) FROM retrieval_gap"
            " WHERE workspace_id = %(workspace)s AND status = 'open'"
            " GROUP BY scope_id, question_key HAVING count(*) > 1",
        ),
        "Dismiss one of them.",
    ),
    Check(
        "G4",
        "A gap was asked once at least, and last no earlier than first.",
        rows(
            "gap",
            "SELECT id FROM retrieval_gap WHERE workspace_id = %(workspace)s"
            " AND (times_asked < 1 OR last_asked_at < first_asked_at)",
        ),
        REASK,
        Severity.WARNING,
    ),
)


def register() -> None:
    """Called once when the app is ready."""
    register_checks(CHECKS)
