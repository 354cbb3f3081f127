"""django-q2 entry points: ids in, domain functions called."""

from uuid import UUID

from workspaces.services import housekeeping, jobs, retention, worker
from workspaces.services.integrations import schedule


def work(job_id: str) -> int:
    """Run this job and whatever else is due; returns the number of jobs that were run."""
    return worker.run_due_jobs(first=UUID(job_id))


def sweep() -> int:
    """Every minute: free dead leases, wake workers, remove what has expired.

    In this order: a body store that fails must not stop the ledger.
    """
    woken = jobs.sweep()
    schedule.sweep_connectors()
    retention.remove_old_texts()
    housekeeping.remove_expired()
    return woken
