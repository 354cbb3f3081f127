"""Whether the runs of this installation are executed, for whoever operates it."""

from django.db import connection

from holamem.database.scope import system_scope
from holamem.metrics import Gauge, register_gauge

# Raw SQL: two aggregates over one partial index. A queued run behind an active one is not due.
_OLDEST = """
SELECT coalesce(extract(epoch FROM now() - least(
  (SELECT min(r.created_at) FROM agents_run AS r JOIN agents_session AS s
      ON s.workspace_id = r.workspace_id AND s.id = r.session_id
    WHERE r.status = 'queued' AND s.active_run_id IS NULL),
  (SELECT min(lease_until) FROM agents_run
    WHERE status IN ('running', 'cancelling') AND lease_until < now()))), 0)
"""


def register() -> None:
    """Called once when the app is ready."""
    register_gauge(
        Gauge(
            "holamem_run_age_seconds",
            "How long a run has been waiting for a runner.",
            (),
            lambda: [((), oldest_due_run_seconds())],
        )
    )


def oldest_due_run_seconds() -> float:
    """How long a run has been waiting for a runner; 0 when none waits."""
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(_OLDEST)
        row = cursor.fetchone()
    return float(row[0])
