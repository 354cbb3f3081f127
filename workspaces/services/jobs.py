"""The job ledger: add, claim by lease, renew, finish, fail with backoff, park, sweep.

The broker redelivers by wall clock and does not count a worker that dies, so attempts, leases
and limits are ours; leases compare with database time.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, connection, models
from django.db.models.functions import Now

from holamem.database.scope import system_scope, workspace_scope
from holamem.errors import Conflict, NotFound
from holamem.ids import new_id
from holamem.queue import wake_on_commit
from workspaces.models.jobs import MAX_ATTEMPTS, Job
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace

LEASE_SECONDS = 60  # kept alive by a thread while the work goes on
BACKOFF_SECONDS = (5, 30)  # before the second and the third attempt
ERROR_CHARACTERS = 500


class LeaseLost(RuntimeError):
    """Another worker took the job over; whatever this one computed is discarded."""


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """`attempts` counts this one. The lease is this worker's as long as `lease_token` holds."""

    id: UUID
    workspace_id: UUID
    scope_id: UUID
    topic: str
    target_id: UUID
    payload: Mapping[str, object]
    attempts: int
    lease_token: UUID


Scopes = Sequence[UUID] | str | None
Handler = Callable[[Workspace, ClaimedJob], None]
_handlers: dict[str, Handler] = {}
_draining: ContextVar[bool] = ContextVar("draining", default=False)


def register_handler(topic: str, handler: Handler) -> None:
    """One handler a topic, registered by the app that owns it when it is ready."""
    _handlers[topic] = handler


def handler_of(topic: str) -> Handler | None:
    return _handlers.get(topic)


def add_job(
    workspace: Workspace,
    *,
    topic: str,
    target_id: UUID,
    scope_id: UUID,
    payload: Mapping[str, object] | None = None,
    priority: int = 100,
    wake: bool = True,
) -> None:
    """Write a ready job in the caller's transaction; one that is ready already is enough.

    `wake` false spares the wake-up where another one, or a draining worker, is sure to follow.

    The update that changes nothing locks a job that is ready already, so that no worker takes
    it before this transaction's change can be seen.
    """
    job_id = new_id()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO workspaces_job (id, workspace_id, scope_id, topic, target_id, payload,"
            " priority, attempts, next_try_at, state, error, created_at)"
            " VALUES (%s, %s, %s, %s, %s, %s::jsonb, %s, 0, now(), 'ready', '', now())"
            " ON CONFLICT (topic, target_id) WHERE state = 'ready'"
            " DO UPDATE SET next_try_at = workspaces_job.next_try_at",
            [job_id, workspace.pk, scope_id, topic, target_id, json.dumps(payload or {}), priority],
        )
    if wake and not _draining.get():
        wake_on_commit(job_id)


@contextmanager
def draining() -> Iterator[None]:
    """While a worker takes all that is due, the jobs that it adds need no wake-up."""
    token = _draining.set(True)
    try:
        yield
    finally:
        _draining.reset(token)


def claim_job(job_id: UUID | None = None) -> ClaimedJob | None:
    """Take one due job, this one first if it is due; None when nothing is due.

    The attempt is counted and committed before any work, so that a worker that is killed
    counts too. A ready job whose twin is running waits for it.
    """
    try:
        with system_scope(), connection.cursor() as cursor:
            cursor.execute(_CLAIM, {"wanted": job_id, "token": new_id(), "lease": LEASE_SECONDS})
            row = cursor.fetchone()
    except IntegrityError:  # a twin started in this moment; the next claim sees it
        return None
    if row is None:
        return None
    payload = json.loads(row[5]) if isinstance(row[5], str) else row[5]
    return ClaimedJob(row[0], row[1], row[2], row[3], row[4], payload, row[6], row[7])


_CLAIM = """
UPDATE workspaces_job SET state = 'running', attempts = attempts + 1, lease_token = %(token)s,
       lease_until = now() + make_interval(secs => %(lease)s)
 WHERE id = (
   SELECT id FROM workspaces_job AS due
    WHERE state = 'ready' AND next_try_at <= now()
      AND NOT EXISTS (SELECT 1 FROM workspaces_job AS twin
                       WHERE twin.topic = due.topic AND twin.target_id = due.target_id
                         AND twin.state = 'running')
    ORDER BY (id = %(wanted)s::uuid) DESC NULLS LAST, priority, id
    LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, workspace_id, scope_id, topic, target_id, payload, attempts, lease_token
"""


def renew_lease(job: ClaimedJob) -> None:
    """Raises LeaseLost when another worker took the job over."""
    with system_scope():
        if not _held(job).update(lease_until=Now() + timedelta(seconds=LEASE_SECONDS)):
            raise LeaseLost


def require_lease(job: ClaimedJob) -> None:
    """Re-check inside the transaction that commits a result; keeps the row until it commits."""
    row = (
        Job.objects.select_for_update()
        .filter(id=job.id, state=Job.State.RUNNING, lease_token=job.lease_token)
        .first()
    )
    if row is None:
        raise LeaseLost


def finish_job(job: ClaimedJob) -> None:
    """Only with the worker's own token; a job that was taken over is left alone."""
    with system_scope():
        _held(job).update(
            state=Job.State.DONE, done_at=Now(), lease_token=None, lease_until=None, error=""
        )


def fail_job(job: ClaimedJob, *, error: str, retry: bool = True) -> None:
    """Back to ready with a pause, or parked after the last attempt. Its event shows the same."""
    parked = not retry or job.attempts >= MAX_ATTEMPTS
    with system_scope():
        released = _release(job, error=error[:ERROR_CHARACTERS], parked=parked)
        if released and job.topic == Job.Topic.EVENT_RECEIVED:
            _mark_event(job, error=error[:ERROR_CHARACTERS], dead=parked)


def postpone_job(job: ClaimedJob, *, error: str, delay_seconds: float) -> None:
    """A provider's outage is not the job's fault: wait, and do not count the attempt."""
    with system_scope():
        _held(job).update(
            state=_ready_or_done(job),
            attempts=models.F("attempts") - 1,
            next_try_at=Now() + timedelta(seconds=delay_seconds),
            lease_token=None,
            lease_until=None,
            error=error[:ERROR_CHARACTERS],
        )


def _held(job: ClaimedJob) -> models.QuerySet[Job]:
    return Job.objects.filter(id=job.id, state=Job.State.RUNNING, lease_token=job.lease_token)


def _release(job: ClaimedJob, *, error: str, parked: bool) -> bool:
    """False when another worker holds the job now."""
    pause = BACKOFF_SECONDS[min(job.attempts, len(BACKOFF_SECONDS)) - 1]
    released = _held(job).update(
        state=Job.State.PARKED if parked else _ready_or_done(job),
        next_try_at=Now() + timedelta(seconds=pause),
        lease_token=None,
        lease_until=None,
        error=error,
    )
    return released == 1


def _ready_or_done(job: ClaimedJob) -> str:
    """A twin that became ready during the run does the work; two ready ones are not allowed."""
    twin = Job.objects.filter(topic=job.topic, target_id=job.target_id, state=Job.State.READY)
    return Job.State.DONE if twin.exists() else Job.State.READY


def _mark_event(job: ClaimedJob, *, error: str, dead: bool) -> None:
    Event.objects.filter(id=job.target_id).exclude(status=Event.Status.PROCESSED).update(
        status=Event.Status.DEAD if dead else Event.Status.FAILED,
        attempts=job.attempts,
        error=error,
    )


def sweep() -> int:
    """Free leases that ran out and wake workers for due work; returns the wake-ups sent.

    Covers lost messages and killed workers: nothing depends on a message arriving.
    """
    with system_scope():
        for job in Job.objects.filter(state=Job.State.RUNNING, lease_until__lt=Now())[:500]:
            _expire(job)
        due = list(
            Job.objects.filter(state=Job.State.READY, next_try_at__lte=Now())
            .order_by("priority", "id")
            .values_list("id", flat=True)[:50]
        )
        for job_id in due:
            wake_on_commit(job_id)
    return len(due)


def _expire(job: Job) -> None:
    claimed = ClaimedJob(
        job.id,
        job.workspace_id,
        job.scope_id,
        job.topic,
        job.target_id,
        job.payload,
        job.attempts,
        job.lease_token or new_id(),
    )
    fail_job(claimed, error="The worker stopped while it held this job.")


def retry_job(workspace: Workspace, *, scopes: Scopes = None, job_id: UUID) -> Job:
    """Give a parked or cancelled job its attempts back. Raises NotFound, Conflict."""
    with workspace_scope(workspace, scopes):
        job = _job(workspace, job_id=job_id)
        if job.state not in (Job.State.PARKED, Job.State.CANCELLED):
            raise Conflict(f"A job that is {job.state} cannot be retried.")
        twin = workspace.jobs.filter(
            topic=job.topic, target_id=job.target_id, state=Job.State.READY
        )
        if twin.exists():
            raise Conflict("The same work is queued already.")
        job.state, job.attempts, job.error = Job.State.READY, 0, ""
        job.save(update_fields=["state", "attempts", "error"])
        workspace.jobs.filter(id=job.id).update(next_try_at=Now())
        if job.topic == Job.Topic.EVENT_RECEIVED:
            workspace.events.filter(id=job.target_id, status=Event.Status.DEAD).update(
                status=Event.Status.RECEIVED, error=""
            )
        wake_on_commit(job.id)
    return job


def cancel_job(workspace: Workspace, *, scopes: Scopes = None, job_id: UUID) -> Job:
    """Stop a job that has not started, or one that is parked. Raises NotFound, Conflict."""
    with workspace_scope(workspace, scopes):
        job = _job(workspace, job_id=job_id)
        if job.state not in (Job.State.READY, Job.State.PARKED):
            raise Conflict(f"A job that is {job.state} cannot be cancelled.")
        job.state = Job.State.CANCELLED
        job.save(update_fields=["state"])
        if job.topic == Job.Topic.EVENT_RECEIVED:
            # Nobody will take the event up, so it must not look as if it were waiting.
            workspace.events.filter(id=job.target_id).exclude(status=Event.Status.PROCESSED).update(
                status=Event.Status.DEAD, error="cancelled"
            )
    return job


def _job(workspace: Workspace, *, job_id: UUID) -> Job:
    job = workspace.jobs.select_for_update().filter(id=job_id).first()
    if job is None:
        raise NotFound("There is no such job.")
    return job
