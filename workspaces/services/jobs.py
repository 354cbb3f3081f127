"""The job ledger: add, claim by lease, renew, finish, fail with backoff, park, sweep.

The broker redelivers by wall clock and does not count a worker that dies, so attempts, leases
and limits are ours; leases compare with database time.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, connection, models
from django.db.models.functions import Greatest, Now

from holamem.database.scope import system_scope, workspace_scope
from holamem.database.statements import run_together
from holamem.errors import Conflict, NotFound
from holamem.ids import new_id
from holamem.queue import wake_on_commit
from workspaces.models.jobs import MAX_ATTEMPTS, Job
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.services.job_rows import (
    HELD_LEASES,
    NewJob,
    lease_values,
    new_jobs_statement,
)

logger = logging.getLogger(__name__)

LEASE_SECONDS = 60  # kept alive by a thread while the work goes on
BACKOFF_SECONDS = (5, 30)  # before the second and the third attempt
ERROR_CHARACTERS = 500
RELEASE_TRIES = 3


class LeaseLost(RuntimeError):
    """Another worker took the job over; whatever this one computed is discarded."""


class TurnOver(RuntimeError):
    """The pass took its time: the job waits for its next turn, and nothing is wrong with it."""


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
# The jobs that failed, with their errors; those that are not named are done.
BatchHandler = Callable[[Workspace, Sequence[ClaimedJob]], Mapping[UUID, Exception]]
_handlers: dict[str, Handler] = {}
_batch_handlers: dict[str, tuple[BatchHandler, int]] = {}
_draining: ContextVar[bool] = ContextVar("draining", default=False)


def register_handler(topic: str, handler: Handler) -> None:
    """One handler a topic, registered by the app that owns it when it is ready."""
    _handlers[topic] = handler


def handler_of(topic: str) -> Handler | None:
    return _handlers.get(topic)


def register_batch_handler(topic: str, handler: BatchHandler, *, size: int) -> None:
    """For a topic whose jobs cost less together; a job alone goes to its own handler."""
    _batch_handlers[topic] = (handler, size)


def batch_handler_of(topic: str) -> BatchHandler | None:
    known = _batch_handlers.get(topic)
    return None if known is None else known[0]


def batch_sizes() -> dict[str, int]:
    """How many jobs of a topic a worker takes at once; topics that are not named: one."""
    return {topic: size for topic, (_, size) in _batch_handlers.items()}


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
    new = NewJob(topic, target_id, scope_id, priority=priority, payload=payload or {})
    run_together([new_jobs_statement(workspace, jobs=[new])])
    wake_for([new] if wake else [])


def wake_for(jobs: Sequence[NewJob]) -> None:
    """Once the step has committed; a draining worker takes them without being woken."""
    if not _draining.get():
        for job in jobs:
            wake_on_commit(job.id)


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
    if not renew_leases([job]):
        raise LeaseLost


def renew_leases(jobs: Sequence[ClaimedJob]) -> int:
    """How many of them this worker still holds."""
    with system_scope():
        return _held(jobs).update(lease_until=Now() + timedelta(seconds=LEASE_SECONDS))


def require_lease(job: ClaimedJob) -> None:
    """Re-check inside the transaction that commits a result; keeps the row until it commits."""
    if not held_leases([job]):
        raise LeaseLost


def held_leases(jobs: Sequence[ClaimedJob]) -> set[UUID]:
    """Ids of the jobs that are still this worker's; their rows are kept until the commit.

    Raw SQL: it is part of every commit, and a queryset costs more than the look-up.
    """
    with connection.cursor() as cursor:
        cursor.execute(HELD_LEASES, lease_values({job.id: job.lease_token for job in jobs}))
        return {row[0] for row in cursor.fetchall()}


def finish_job(job: ClaimedJob) -> None:
    """Only with the worker's own token; a job that was taken over is left alone."""
    finish_jobs([job])


def finish_jobs(jobs: Sequence[ClaimedJob]) -> None:
    """In one step. What an earlier job of the same target was parked for is done with it."""
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(
            _FINISH,
            {
                "ids": [job.id for job in jobs],
                "tokens": [job.lease_token for job in jobs],
                "workspaces": list({job.workspace_id for job in jobs}),
            },
        )


# Raw SQL: one statement for the jobs and for what was parked in their place.
_FINISH = """
WITH done AS (
  UPDATE workspaces_job SET state = 'done', done_at = now(), lease_token = NULL,
         lease_until = NULL, error = ''
   WHERE id = ANY(%(ids)s::uuid[]) AND lease_token = ANY(%(tokens)s::uuid[])
     AND state = 'running'
  RETURNING topic, target_id)
UPDATE workspaces_job AS job SET state = 'done', done_at = now()
  FROM done
 WHERE job.workspace_id = ANY(%(workspaces)s::uuid[]) AND job.state = 'parked'
   AND job.topic = done.topic AND job.target_id = done.target_id
"""


def fail_job(job: ClaimedJob, *, error: str, retry: bool = True) -> None:
    """Back to ready with a pause, or parked after the last attempt. Its event shows the same."""
    text = error[:ERROR_CHARACTERS]

    def release() -> None:
        parked = (
            not retry or job.attempts >= MAX_ATTEMPTS or _of_target(job, Job.State.PARKED).exists()
        )
        released = _park(job, error=text) if parked else _put_back(job, error=text)
        if released and job.topic == Job.Topic.EVENT_RECEIVED:
            _mark_event(job, error=text, dead=parked)

    _seeing_twins(release)


def postpone_job(job: ClaimedJob, *, error: str, delay_seconds: float) -> None:
    """A provider's outage is not the job's fault: wait, and do not count the attempt."""
    pause = timedelta(seconds=delay_seconds)
    text = error[:ERROR_CHARACTERS]
    _seeing_twins(lambda: _release(job, error=text, attempts=job.attempts - 1, pause=pause))


def _seeing_twins(release: Callable[[], object]) -> None:
    """In one step; again when a twin is committed in this moment, which then is seen."""
    for _ in range(RELEASE_TRIES):
        with suppress(IntegrityError), system_scope():
            release()
            return
    logger.warning("job.not_released")  # its lease runs out, and the sweeper does it


def _held(jobs: Sequence[ClaimedJob]) -> models.QuerySet[Job]:
    return Job.objects.filter(
        id__in=[job.id for job in jobs],
        state=Job.State.RUNNING,
        lease_token__in=[job.lease_token for job in jobs],
    )


def _of_target(job: ClaimedJob, state: str) -> models.QuerySet[Job]:
    """Jobs for the same work in another state."""
    return Job.objects.filter(
        workspace_id=job.workspace_id, topic=job.topic, target_id=job.target_id, state=state
    )


def _put_back(job: ClaimedJob, *, error: str) -> bool:
    pause = BACKOFF_SECONDS[min(job.attempts, len(BACKOFF_SECONDS)) - 1]
    return _release(job, error=error, attempts=job.attempts, pause=timedelta(seconds=pause))


def _release(job: ClaimedJob, *, error: str, attempts: int, pause: timedelta) -> bool:
    """False when another worker holds the job now.

    A twin that became ready during the run does the work, since two ready ones are not allowed.
    It takes over the attempts and the pause: a change in time must not make poison immortal.
    """
    twin = _of_target(job, Job.State.READY).select_for_update().first()
    released = _held([job]).update(
        state=Job.State.READY if twin is None else Job.State.DONE,
        attempts=attempts,
        next_try_at=Now() + pause,
        lease_token=None,
        lease_until=None,
        error=error,
    )
    if released and twin is not None:
        Job.objects.filter(id=twin.id).update(
            attempts=Greatest(models.F("attempts"), attempts),
            next_try_at=Greatest(models.F("next_try_at"), Now() + pause),
            error=error,
        )
    return released == 1


def _park(job: ClaimedJob, *, error: str) -> bool:
    """One parked job stands for the work of its target, whatever else was queued for it.

    A later change gets one attempt: what goes wrong with the target mostly stays wrong.
    """
    released = _held([job]).update(
        state=Job.State.PARKED, lease_token=None, lease_until=None, error=error
    )
    if released:
        others = _of_target(job, Job.State.READY) | _of_target(job, Job.State.PARKED)
        others.exclude(id=job.id).update(state=Job.State.DONE, done_at=Now(), error=error)
    return released == 1


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
