"""Gates at the named points of the code: two workers meet there, or something happens there."""

import threading
from collections.abc import Callable
from uuid import UUID

import pytest
from django.db import connection

from holamem import faults
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.jobs import ClaimedJob, claim_job
from workspaces.services.worker import run_job

GATE_SECONDS = 60


def meet_at(monkeypatch: pytest.MonkeyPatch, name: str, *, workers: int) -> None:
    """Each thread waits, the first time it comes to the point, until all have come."""
    barrier = threading.Barrier(workers)
    seen = threading.local()

    def point(reached: str) -> None:
        if reached == name and not hasattr(seen, "came"):
            seen.came = True
            barrier.wait(GATE_SECONDS)

    monkeypatch.setattr(faults, "point", point)


def once_at(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], None]) -> None:
    """Do this when the point is reached for the first time; points inside it do nothing."""
    pending = [act]

    def point(reached: str) -> None:
        if reached == name and pending:
            pending.pop()()

    monkeypatch.setattr(faults, "point", point)


def claim(workspace: Workspace, *, topic: Job.Topic, target_id: UUID) -> ClaimedJob:
    from holamem.database.scope import system_scope

    with system_scope():
        job_id = Job.objects.get(
            workspace=workspace, topic=topic, target_id=target_id, state=Job.State.READY
        ).id
    claimed = claim_job(job_id)
    assert claimed is not None
    assert claimed.id == job_id
    return claimed


def run_together(jobs: list[ClaimedJob]) -> None:
    """Each claimed job in a thread with a connection of its own."""

    def run(job: ClaimedJob) -> None:
        try:
            run_job(job)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GATE_SECONDS * 2)
    assert not any(thread.is_alive() for thread in threads)
