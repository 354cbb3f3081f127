"""Which state of a run may follow which, and the one way from one to the next.

Every change takes the session's row first and the run's second, so that no two steps wait for
each other, and changes the run by compare-and-swap.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import connection

from agents.models.conversations import Session
from agents.models.runs import ACTIVE_RUN, ENDED_RUN, Run, RunEvent
from holamem.errors import Conflict, NotFound
from workspaces.models.tenancy import Workspace

WAKE_CHANNEL = "holamem_runs"

S = Run.Status
LEGAL_MOVES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        S.QUEUED: frozenset({S.RUNNING, S.FAILED, S.CANCELLED}),
        S.RUNNING: frozenset(
            {S.WAITING_APPROVAL, S.CANCELLING, S.COMPLETED, S.FAILED, S.CANCELLED}
        ),
        S.WAITING_APPROVAL: frozenset({S.RUNNING, S.FAILED, S.CANCELLED}),
        S.CANCELLING: frozenset({S.FAILED, S.CANCELLED}),
        S.COMPLETED: frozenset(),
        S.FAILED: frozenset(),
        S.CANCELLED: frozenset(),
    }
)

# What each event of a run says about its state; those that are not named leave it as it is.
STATE_AFTER: Mapping[str, str] = MappingProxyType(
    {
        RunEvent.Type.RUN_CREATED: S.QUEUED,
        RunEvent.Type.RUN_STARTED: S.RUNNING,
        RunEvent.Type.APPROVAL_REQUIRED: S.WAITING_APPROVAL,
        RunEvent.Type.APPROVAL_DECIDED: S.RUNNING,
        RunEvent.Type.RUN_COMPLETED: S.COMPLETED,
        RunEvent.Type.RUN_FAILED: S.FAILED,
        RunEvent.Type.RUN_CANCELLED: S.CANCELLED,
    }
)


class RunLost(RuntimeError):
    """The run is not this worker's any more: another one took it over, or it has ended.

    Whatever this worker computed is discarded.
    """


def lock_session(workspace: Workspace, *, session_id: UUID) -> Session:
    """The session as it is now, kept until the caller's transaction ends. Raises NotFound."""
    session = workspace.sessions.select_for_update().filter(id=session_id).first()
    if session is None:
        raise NotFound("There is no such session.")
    return session


def require_lease(run: Run) -> None:
    """Raises RunLost unless the caller's transaction may write for `run.lease_token`.

    Keeps the run's row until the transaction ends. A run that is being cancelled is not lost:
    its worker ends it.
    """
    held = run.workspace.runs.select_for_update().filter(id=run.id, lease_token=run.lease_token)
    if run.lease_token is None or not held.exists():
        raise RunLost


def move(run: Run, *, to: str, token: UUID | None = None, **changes: Any) -> None:
    """In the caller's transaction, which holds the session. `token`: only for this lease's worker.

    The instance follows. Raises Conflict when the run is elsewhere by now, RunLost when the lease
    is another one's.
    """
    if to not in LEGAL_MOVES[run.status]:
        raise Conflict(f"A run that is {run.status} cannot become {to}.")
    rows = run.workspace.runs.filter(id=run.id, status=run.status)
    if token is not None:
        rows = rows.filter(lease_token=token)
    if rows.update(status=to, **changes) != 1:
        if token is not None:
            raise RunLost
        raise Conflict(f"The run is not {run.status} any more.")
    run.status = to
    for name, value in changes.items():
        setattr(run, name, value)


def is_active(run: Run) -> bool:
    return run.status in ACTIVE_RUN


def is_ended(run: Run) -> bool:
    return run.status in ENDED_RUN


def request_wake(run: Run) -> None:
    """In the caller's transaction: the runners hear it at the commit; a poll stands behind it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [WAKE_CHANNEL, str(run.pk)])
