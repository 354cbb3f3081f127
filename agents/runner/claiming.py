"""Which run a runner takes next: first what was left lying, then what waits in a queue.

Leases compare with database time, so that a process with a wrong clock takes nothing from others.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from agents.events.append import append_event
from agents.models.conversations import Session
from agents.models.runs import Run, RunEvent
from agents.runner.handles import RunHandle
from agents.services.sessions import claim_active_run
from agents.services.states import move
from holamem.clock import now
from holamem.database.scope import system_scope
from holamem.ids import new_id
from workspaces.models.tenancy import Workspace

LEASE_SECONDS = 30

# A run whose worker is gone, or that goes on after its approval. The attempt is counted before
# any work, so that a worker that is killed counts too.
_TAKE_OVER = """
UPDATE agents_run SET attempts = attempts + 1, lease_token = %(token)s,
       lease_until = now() + make_interval(secs => %(lease)s)
 WHERE id = (
   SELECT id FROM agents_run
    WHERE status IN ('running', 'cancelling') AND (lease_until IS NULL OR lease_until < now())
      AND NOT workspace_id = ANY(%(busy)s::uuid[])
    ORDER BY lease_until NULLS FIRST, id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id
"""
# An idle session with a run in its queue. Sessions come in the order of their oldest runs.
_IDLE_SESSION = """
SELECT s.id FROM agents_run AS r
  JOIN agents_session AS s ON s.workspace_id = r.workspace_id AND s.id = r.session_id
 WHERE r.status = 'queued' AND s.active_run_id IS NULL
   AND NOT r.workspace_id = ANY(%(busy)s::uuid[])
 ORDER BY r.id LIMIT 1 FOR UPDATE OF s SKIP LOCKED
"""


def claim_run(*, busy: Sequence[UUID] = ()) -> RunHandle | None:
    """`busy`: workspaces that have their share of this process already. None: nothing is due."""
    token = new_id()
    values: dict[str, Any] = {"token": token, "lease": LEASE_SECONDS, "busy": list(busy)}
    with system_scope():
        run_id = _first(_TAKE_OVER, values)
    if run_id is not None:
        return _handle(run_id)
    with system_scope():
        session_id = _first(_IDLE_SESSION, values)
        run = None if session_id is None else _begin(session_id, token=token)
    return None if run is None else _handle(run.id)


def _first(statement: str, values: dict[str, Any]) -> UUID | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row = cursor.fetchone()
    return None if row is None else row[0]


def _begin(session_id: UUID, *, token: UUID) -> Run | None:
    """The next of a session that this step holds: it becomes active, with its lease."""
    session = Session.objects.select_related("workspace__tenant").get(id=session_id)
    workspace = session.workspace
    run = next_in_queue(workspace, session=session)
    if run is None:
        return None
    run.workspace = workspace
    claim_active_run(session, run)
    event = append_event(
        workspace,
        session=session,
        type=RunEvent.Type.RUN_STARTED,
        payload={"status": Run.Status.RUNNING},
        run_id=run.id,
    )
    move(
        run,
        to=Run.Status.RUNNING,
        started_at=now(),
        started_seq=event.seq,
        attempts=1,
        lease_token=token,
        lease_until=Now() + timedelta(seconds=LEASE_SECONDS),
    )
    return run


def next_in_queue(workspace: Workspace, *, session: Session) -> Run | None:
    """Interrupts first, then in the order of their commits."""
    rows = workspace.runs.filter(session=session, status=Run.Status.QUEUED)
    # "interrupt" comes before "queue" in the alphabet.
    return rows.order_by("input_mode", "created_seq").first()


def _handle(run_id: UUID) -> RunHandle:
    with system_scope():
        rows = Run.objects.select_related("workspace__tenant", "session")
        run = rows.get(id=run_id)
    run.session.workspace = run.workspace
    return RunHandle(run.workspace, run, run.session)


# Raw SQL: one statement for all runs of the process, each with its own token.
_RENEW = """
UPDATE agents_run AS r SET lease_until = now() + make_interval(secs => %(lease)s)
  FROM unnest(%(runs)s::uuid[], %(tokens)s::uuid[]) AS held (id, token)
 WHERE r.id = held.id AND r.lease_token = held.token
RETURNING r.id, r.status = 'cancelling'
"""
_LOOK = """
SELECT r.id, r.status = 'cancelling'
  FROM agents_run AS r
  JOIN unnest(%(runs)s::uuid[], %(tokens)s::uuid[]) AS held (id, token)
    ON r.id = held.id AND r.lease_token = held.token
"""


def look_after(handles: Sequence[RunHandle], *, renew: bool) -> None:
    """Set the flags of runs that are lost or cancelled by now; `renew` keeps the others."""
    values: dict[str, Any] = {
        "runs": [handle.id for handle in handles],
        "tokens": [handle.run.lease_token for handle in handles],
        "lease": LEASE_SECONDS,
    }
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(_RENEW if renew else _LOOK, values)
        held = dict(cursor.fetchall())
    for handle in handles:
        if handle.id not in held:
            handle.lost.set()
        elif held[handle.id]:
            handle.cancelled.set()


_RELEASE = """
UPDATE agents_run AS r SET lease_token = NULL, lease_until = NULL,
       attempts = greatest(attempts - %(spared)s, 0)
  FROM unnest(%(runs)s::uuid[], %(tokens)s::uuid[]) AS held (id, token)
 WHERE r.id = held.id AND r.lease_token = held.token
"""


def release(handles: Sequence[RunHandle], *, counts: bool = False) -> None:
    """Let others take these runs over at once; whatever our threads still compute is discarded.

    `counts`: the attempt was one. After a planned stop it is not: that is no fault of the run.
    """
    values: dict[str, Any] = {
        "runs": [handle.id for handle in handles],
        "tokens": [handle.run.lease_token for handle in handles],
        "spared": 0 if counts else 1,
    }
    if handles:
        with system_scope(), connection.cursor() as cursor:
            cursor.execute(_RELEASE, values)
