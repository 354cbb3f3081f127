"""Sessions whose last pass failed: how many wait, and when they are tried again.

Their messages stand in the history, and where they were said. A service that answers again works
them off; what failed for another reason than an outage waits for its night, and is not repeated
for each answer that the service gives to somebody else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from agents.models.distillation import Distillation
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.metrics import Gauge, register_gauge
from workspaces.models.tenancy import Workspace

Scopes = Sequence[UUID] | str | None
OUTAGES = ("circuit_open", "connection", "timeout", "status", "cut")

# Raw SQL: the newest pass of each session, which the ORM has no plain way to ask for. It is still
# open while the cursor is before its end.
_WAITING = """
SELECT DISTINCT ON (d.session_id) d.session_id, d.scope_id, d.messages, d.error, d.status
  FROM agents_distillation AS d JOIN agents_session AS s
    ON s.workspace_id = d.workspace_id AND s.id = d.session_id
 WHERE d.workspace_id = %(workspace)s AND d.to_seq > s.distilled_seq
 ORDER BY d.session_id, d.id DESC
"""
_COUNT = """
SELECT count(DISTINCT d.session_id) FROM agents_distillation AS d JOIN agents_session AS s
    ON s.workspace_id = d.workspace_id AND s.id = d.session_id
 WHERE d.status = 'failed' AND d.to_seq > s.distilled_seq
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """`messages` are those of the pass that failed; `error` is its code."""

    session_id: UUID
    scope_id: UUID
    messages: int
    error: str

    @property
    def is_outage(self) -> bool:
        return self.error in OUTAGES


@dataclass(frozen=True, slots=True)
class Backlog:
    sessions: int
    messages: int


def register() -> None:
    """Called once when the app is ready."""
    register_gauge(
        Gauge(
            "holamem_distillation_backlog",
            "Sessions whose distillation failed and has not been made up for.",
            (),
            lambda: [((), _count())],
        )
    )


def _count() -> float:
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(_COUNT)
        return float(cursor.fetchone()[0])


def waiting_sessions(workspace: Workspace, *, scopes: Scopes = ALL_SCOPES) -> list[Waiting]:
    """In no order that means anything."""
    with workspace_scope(workspace, scopes), connection.cursor() as cursor:
        cursor.execute(_WAITING, {"workspace": workspace.pk})
        rows = cursor.fetchall()
    return [Waiting(*row[:4]) for row in rows if row[4] == Distillation.Status.FAILED]


def backlog_of(workspace: Workspace, *, scopes: Scopes) -> Backlog:
    found = waiting_sessions(workspace, scopes=scopes)
    return Backlog(len(found), sum(one.messages for one in found))
