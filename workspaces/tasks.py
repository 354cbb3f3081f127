"""django-q2 entry points: ids in, domain functions called.

The queue writes the words of an error into its own tables and its log, where a database error
would quote the row; so an error is logged here, and only its type goes on.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from workspaces.services import housekeeping, jobs, retention, vector_indexes, worker
from workspaces.services.integrations import schedule
from workspaces.services.transfer import transfers
from workspaces.services.webhooks import schedule as webhooks

logger = logging.getLogger(__name__)


class TaskFailed(RuntimeError):
    """Names the type of what went wrong; the log has the rest."""


def work(job_id: str) -> int:
    """Run this job and whatever else is due; returns the number of jobs that were run."""
    with _without_words():
        done = worker.run_due_jobs(first=UUID(job_id))
        if webhooks.queue_due_deliveries():  # what this work gave occasion to tell
            done += worker.run_due_jobs()
        return done


def sweep() -> int:
    """Every minute: free dead leases, wake workers, remove what has expired.

    In this order: a body store that fails must not stop the ledger, and an index of a large scope
    takes minutes, in which the next sweep goes on with the rest.
    """
    with _without_words():
        woken = jobs.sweep()
        schedule.sweep_connectors()
        webhooks.queue_due_deliveries()
        webhooks.remove_old_deliveries()
        retention.remove_old_texts()
        housekeeping.remove_expired()
        transfers.sweep_transfers()
        vector_indexes.maintain_vector_indexes()
    return woken


@contextmanager
def _without_words() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        logger.error("task.failed", exc_info=error)
        raise TaskFailed(type(error).__name__) from None
