"""django-q2 entry points: ids in, domain functions called.

The queue writes the words of an error into its own tables and its log, where a database error
would quote the row; so an error is logged here, and only its type goes on.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from workspaces.services import housekeeping, jobs, retention, worker
from workspaces.services.integrations import schedule

logger = logging.getLogger(__name__)


class TaskFailed(RuntimeError):
    """Names the type of what went wrong; the log has the rest."""


def work(job_id: str) -> int:
    """Run this job and whatever else is due; returns the number of jobs that were run."""
    with _without_words():
        return worker.run_due_jobs(first=UUID(job_id))


def sweep() -> int:
    """Every minute: free dead leases, wake workers, remove what has expired.

    In this order: a body store that fails must not stop the ledger.
    """
    with _without_words():
        woken = jobs.sweep()
        schedule.sweep_connectors()
        retention.remove_old_texts()
        housekeeping.remove_expired()
    return woken


@contextmanager
def _without_words() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        logger.error("task.failed", exc_info=error)
        raise TaskFailed(type(error).__name__) from None
