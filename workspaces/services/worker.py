"""What a worker does with a wake-up: claim, run, settle, and go on while work is due."""

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import UUID

from django.db import DatabaseError, connection

from holamem.database.scope import ScopeViolation, system_scope
from holamem.errors import HolamemError, ProviderError, StorageRefused
from holamem.queue import send_wake_up
from workspaces.index.embedding import EmbeddingMismatch
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.claiming import Turns
from workspaces.services.jobs import (
    LEASE_SECONDS,
    BatchHandler,
    ClaimedJob,
    LeaseLost,
    TurnOver,
    batch_handler_of,
    claim_job,
    draining,
    fail_job,
    finish_job,
    finish_jobs,
    handler_of,
    postpone_job,
    renew_leases,
)
from workspaces.services.quotas import QuotaReached, hold_back

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 60  # then the wake-up ends and the sweeper's next one goes on
RENEW_SECONDS = LEASE_SECONDS / 3
PAYLOAD_VERSION = 1
POSTPONE_SECONDS = 30.0
POSTPONE_SECONDS_MAX = 600.0
_OPERATOR_KINDS = frozenset({"key_refused", "status"})
# SQLSTATE: rollbacks for another's sake, lack of resources, the system below the server.
_OUTAGE_CLASSES = frozenset({"40", "53", "58"})
# A lock that was not to be had, a shutdown by an administrator, a start that is not over.
_OUTAGE_STATES = frozenset({"55P03", "57P01", "57P03"})


_turns = Turns()


def run_due_jobs(*, first: UUID | None = None, drain_seconds: float = DRAIN_SECONDS) -> int:
    """Run `first` and then everything that is due, for at most `drain_seconds`."""
    deadline = time.monotonic() + drain_seconds
    done = 0
    with draining():
        wanted = claim_job(first) if first is not None else None
        jobs = [wanted] if wanted is not None else _turns.claim()
        while jobs:
            run_jobs(jobs)
            done += len(jobs)
            if time.monotonic() > deadline:
                send_wake_up(jobs[0].id)  # whoever takes it goes on with what is due
                break
            jobs = _turns.claim()
    return done


def run_job(job: ClaimedJob) -> None:
    """Run one claimed job and settle it; no error escapes, so that one job stops no other."""
    started = time.monotonic()
    outcome = _settle(job, error=_attempt(job))
    _log(job, outcome=outcome, seconds=time.monotonic() - started)


def run_jobs(jobs: Sequence[ClaimedJob]) -> None:
    """Jobs of one topic and scope together, where the topic has a way to; each is settled."""
    handler = batch_handler_of(jobs[0].topic)
    if handler is None or len(jobs) == 1 or not all(map(is_understood, jobs)):
        for job in jobs:
            run_job(job)
        return
    started = time.monotonic()
    errors = _attempt_together(jobs, handler=handler)
    finish_jobs([job for job in jobs if job.id not in errors])
    seconds = (time.monotonic() - started) / len(jobs)
    for job in jobs:
        outcome = _settle(job, error=errors[job.id]) if job.id in errors else "done"
        _log(job, outcome=outcome, seconds=seconds)


def _log(job: ClaimedJob, *, outcome: str, seconds: float) -> None:
    logger.info(
        "job.run",
        extra={
            "topic": job.topic,
            "job_id": str(job.id),
            "workspace_id": str(job.workspace_id),
            "outcome": outcome,
            "duration_ms": round(seconds * 1000),
        },
    )


def _attempt(job: ClaimedJob) -> Exception | None:
    try:
        with kept_leases([job]):
            handle(job)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is settled with the job
        return error
    return None


def _attempt_together(
    jobs: Sequence[ClaimedJob], *, handler: BatchHandler
) -> Mapping[UUID, Exception]:
    """Errors by job. One that concerns no single job is every job's, which then come alone."""
    workspace = _workspace_of(jobs[0])
    if workspace is None:
        return {}
    try:
        with kept_leases(jobs):
            return handler(workspace, jobs)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is settled with the jobs
        return {job.id: error for job in jobs}


def _settle(job: ClaimedJob, *, error: Exception | None) -> str:
    """Write down how the job ended; the word for the log."""
    if error is None:
        finish_job(job)
        return "done"
    if isinstance(error, LeaseLost):
        return "lease_lost"
    if isinstance(error, TurnOver):
        postpone_job(job, error="", delay_seconds=0)
        return "postponed"
    if isinstance(error, ProviderError):
        return _settle_provider_error(job, error)
    if isinstance(error, QuotaReached):
        postpone_job(job, error=f"{error.code}: {error}", delay_seconds=error.retry_after_seconds)
        hold_back(job.workspace_id, topic=job.topic, error=error)
        return "held_back"
    if isinstance(error, EmbeddingMismatch | StorageRefused):
        # Every job would fail the same way until an operator sets the model or the disk right.
        postpone_job(job, error=f"{error.code}: {error}", delay_seconds=POSTPONE_SECONDS)
        return "postponed"
    if isinstance(error, HolamemError):
        fail_job(job, error=f"{error.code}: {error}")
        return "failed"
    if _is_outage(error):
        _reset_connection(error)
        words = f"The database refused: {type(error.__cause__).__name__}"
        postpone_job(job, error=words, delay_seconds=POSTPONE_SECONDS)
        return "postponed"
    logger.error("job.crashed", extra={"topic": job.topic, "job_id": str(job.id)}, exc_info=error)
    _reset_connection(error)
    fail_job(job, error=f"{type(error).__name__} while running this job")
    return "failed"


def _is_outage(error: Exception) -> bool:
    """The database's state, not the job's fault: a full disk, a shutdown, another's locks.

    A connection that is lost counts, since it may be this job that ends the server each time.
    """
    state = str(getattr(error.__cause__, "sqlstate", None) or "")
    is_state = state in _OUTAGE_STATES or state[:2] in _OUTAGE_CLASSES
    return isinstance(error, DatabaseError) and is_state


@contextmanager
def kept_leases(jobs: Sequence[ClaimedJob]) -> Iterator[None]:
    """Renew the leases in the background, so that a slow model call does not lose them.

    The thread dies with its process: a killed worker's leases run out.
    """
    stop = threading.Event()
    keeper = threading.Thread(target=_renew_until, args=(jobs, stop), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stop.set()
        keeper.join()


def _renew_until(jobs: Sequence[ClaimedJob], stop: threading.Event) -> None:
    try:
        while not stop.wait(RENEW_SECONDS):
            if not renew_leases(jobs):
                raise LeaseLost
    except (LeaseLost, DatabaseError):
        # The commit re-checks the lease; a worker that lost it discards its result there.
        logger.warning("job.lease_not_renewed", extra={"job_id": str(jobs[0].id)})
    finally:
        connection.close()


def _settle_provider_error(job: ClaimedJob, error: ProviderError) -> str:
    """An outage waits without counting; an unusable answer counts as an attempt.

    So does a service that refuses the key or does not know the model: every job would fail the
    same way until an operator sets it right, and none of them is at fault.
    """
    if not error.retryable and error.detail.get("kind") not in _OPERATOR_KINDS:
        fail_job(job, error=f"{error.code}: {error}")
        return "failed"
    delay = min(error.retry_after_seconds or POSTPONE_SECONDS, POSTPONE_SECONDS_MAX)
    postpone_job(job, error=f"{error.code}: {error}", delay_seconds=delay)
    return "postponed"


def _reset_connection(error: Exception) -> None:
    """A broken connection is replaced, so that the failure itself can be recorded."""
    if not isinstance(error, ScopeViolation):
        connection.close_if_unusable_or_obsolete()


class NotUnderstood(HolamemError):
    """The job was queued by a newer release: it is kept, for a worker that knows what it means."""

    code = "job_not_understood"


def is_understood(job: ClaimedJob) -> bool:
    """A topic of ours, in a form that this release reads; without a version it is the first."""
    return job.topic in Job.Topic.values and job.payload.get("version", 1) == PAYLOAD_VERSION


def handle(job: ClaimedJob) -> None:
    """Call the topic's handler. A topic without one has nothing to do; a gone workspace neither.

    Raises NotUnderstood.
    """
    if not is_understood(job):
        raise NotUnderstood("This job was queued by another release.")
    handler, workspace = handler_of(job.topic), _workspace_of(job)
    if handler is not None and workspace is not None:
        handler(workspace, job)


def _workspace_of(job: ClaimedJob) -> Workspace | None:
    with system_scope():
        rows = Workspace.objects.select_related("tenant")
        return rows.filter(id=job.workspace_id).first()
