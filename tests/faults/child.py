"""What runs in a process that may be killed: forked from one that has everything loaded.

Loading is done once, when this module is imported there; no connection is open at that time.
"""

import os
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any
from uuid import UUID

import django

from tests.faults.gate_locks import wait_at


def load() -> None:
    """Django and the embedding model, which a process with one thread may have before it forks."""
    from holamem.providers import embed_local

    django.setup()
    model = embed_local._load_model(1)
    embed_local._load_model = lambda threads: model


def run(
    act: Callable[..., object],
    arguments: tuple[Any, ...],
    *,
    settings: dict[str, str],
    gate: tuple[str, int] | None,
    errors: Connection,
) -> None:
    """`settings` of the product, as variables; at the point of `gate`, wait for its lock."""
    from holamem.environment import get_environment

    os.environ.update(settings)
    get_environment.cache_clear()
    if gate is not None:
        wait_at(*gate)
    try:
        act(*arguments)
    except BaseException:
        errors.send(traceback.format_exc())
        raise


def work_in(workspace_id: UUID, poison: UUID | None = None) -> None:
    """What is due in one workspace; the event `poison` kills whoever takes it up."""
    from holamem.database.scope import system_scope
    from tests.workspaces.memory import drain
    from workspaces.models.tenancy import Workspace

    if poison is not None:
        _poison(poison)
    with system_scope():
        workspace = Workspace.objects.select_related("tenant").get(id=workspace_id)
    drain(workspace)


def work_on(job_id: UUID) -> None:
    """What a wake-up for this job does, and nothing else that is due."""
    from workspaces.services.jobs import claim_job
    from workspaces.services.worker import run_job

    claimed = claim_job(job_id)
    if claimed is not None and claimed.id == job_id:
        run_job(claimed)


def work() -> None:
    """Everything that is due, jobs together where they can be."""
    from workspaces.services.worker import run_due_jobs

    run_due_jobs()


def _poison(event_id: UUID) -> None:
    import signal

    from workspaces.models.jobs import Job
    from workspaces.models.tenancy import Workspace
    from workspaces.services.jobs import ClaimedJob, register_batch_handler, register_handler
    from workspaces.services.processing import process_event, process_events

    def handler(workspace: Workspace, job: ClaimedJob) -> None:
        if job.target_id == event_id:
            os.kill(os.getpid(), signal.SIGKILL)
        process_event(workspace, job)

    register_handler(Job.Topic.EVENT_RECEIVED, handler)
    register_batch_handler(Job.Topic.EVENT_RECEIVED, process_events, size=1)  # each alone
