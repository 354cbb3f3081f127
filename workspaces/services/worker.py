"""What a worker does with a wake-up: claim, run, settle, and go on while work is due."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import DatabaseError, connection

from holamem.database.scope import ScopeViolation, system_scope
from holamem.errors import HolamemError, ProviderError
from holamem.queue import send_wake_up
from workspaces.index.embedding import EmbeddingMismatch
from workspaces.models.tenancy import Workspace
from workspaces.services.jobs import (
    LEASE_SECONDS,
    ClaimedJob,
    LeaseLost,
    claim_job,
    draining,
    fail_job,
    finish_job,
    handler_of,
    postpone_job,
    renew_lease,
)

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 60  # then the wake-up ends and the sweeper's next one goes on
RENEW_SECONDS = LEASE_SECONDS / 3
POSTPONE_SECONDS = 30.0
POSTPONE_SECONDS_MAX = 600.0
_OPERATOR_KINDS = frozenset({"key_refused", "status"})


def run_due_jobs(*, first: UUID | None = None, drain_seconds: float = DRAIN_SECONDS) -> int:
    """Run `first` and then everything that is due, for at most `drain_seconds`."""
    deadline = time.monotonic() + drain_seconds
    done, wanted = 0, first
    with draining():
        while (job := claim_job(wanted)) is not None:
            run_job(job)
            done, wanted = done + 1, None
            if time.monotonic() > deadline:
                send_wake_up(job.id)  # whoever takes it goes on with what is due
                break
    return done


def run_job(job: ClaimedJob) -> None:
    """Run one claimed job and settle it; no error escapes, so that one job stops no other."""
    started = time.monotonic()
    outcome = _run_and_settle(job)
    logger.info(
        "job.run",
        extra={
            "topic": job.topic,
            "job_id": str(job.id),
            "workspace_id": str(job.workspace_id),
            "outcome": outcome,
            "duration_ms": round((time.monotonic() - started) * 1000),
        },
    )


def _run_and_settle(job: ClaimedJob) -> str:
    try:
        with kept_lease(job):
            handle(job)
    except LeaseLost:
        return "lease_lost"
    except ProviderError as error:
        return _settle_provider_error(job, error)
    except EmbeddingMismatch as error:
        # Every job would fail the same way until an operator sets the model right.
        postpone_job(job, error=f"{error.code}: {error}", delay_seconds=POSTPONE_SECONDS)
        return "postponed"
    except HolamemError as error:
        fail_job(job, error=f"{error.code}: {error}")
        return "failed"
    except Exception as error:
        logger.exception("job.crashed", extra={"topic": job.topic, "job_id": str(job.id)})
        _reset_connection(error)
        fail_job(job, error=f"{type(error).__name__} while running this job")
        return "failed"
    finish_job(job)
    return "done"


@contextmanager
def kept_lease(job: ClaimedJob) -> Iterator[None]:
    """Renew the lease in the background, so that a slow model call does not lose it.

    The thread dies with its process: a killed worker's lease runs out.
    """
    stop = threading.Event()
    keeper = threading.Thread(target=_renew_until, args=(job, stop), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stop.set()
        keeper.join()


def _renew_until(job: ClaimedJob, stop: threading.Event) -> None:
    try:
        while not stop.wait(RENEW_SECONDS):
            renew_lease(job)
    except (LeaseLost, DatabaseError):
        # The commit re-checks the lease; a worker that lost it discards its result there.
        logger.warning("job.lease_not_renewed", extra={"job_id": str(job.id)})
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


def handle(job: ClaimedJob) -> None:
    """Call the topic's handler. A topic without one has nothing to do; a gone workspace neither."""
    handler = handler_of(job.topic)
    with system_scope():
        workspace = Workspace.objects.select_related("tenant").filter(id=job.workspace_id).first()
    if handler is not None and workspace is not None:
        handler(workspace, job)
