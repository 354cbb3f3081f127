"""Workers that die, hang or poison: the ledger takes the work back and stops for nobody."""

from uuid import UUID

import pytest
from django.db import OperationalError
from django_q.models import OrmQ
from psycopg import Error as DatabaseFault
from psycopg.errors import AdminShutdown, DeadlockDetected, DiskFull

from holamem import faults
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from tests.faults.crash import (
    end_pauses,
    expire_leases,
    lengthen_pauses,
    recover,
    start_worker,
)
from tests.faults.gates import claim, once_at
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, principal_of, results_of, unfinished_jobs
from workspaces.models.jobs import MAX_ATTEMPTS, Job
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import receive_events
from workspaces.services.jobs import fail_job, retry_job, sweep
from workspaces.services.worker import run_job

FACTS = (
    "The Atlas gateway listens on port 8443.",
    "Mara Lindqvist owns the Atlas gateway.",
)


def receive(workspace: Workspace, *texts: str) -> list[UUID]:
    drafts = [draft(text, minutes=n) for n, text in enumerate(texts)]
    return receive_events(workspace, drafts=drafts, principal=principal_of(workspace)).event_ids


def job_of(event_id: UUID) -> Job:
    with system_scope():
        return Job.objects.get(target_id=event_id, topic=Job.Topic.EVENT_RECEIVED)


def time_passes(workspace: Workspace) -> None:
    expire_leases(workspace)
    sweep()
    end_pauses(workspace)


def test_an_event_that_kills_every_worker_is_parked_and_stops_nothing(workspace: Workspace) -> None:
    poison, healthy = receive(workspace, *FACTS)
    assert start_worker(workspace, poison=poison).is_killed()
    expire_leases(workspace)
    sweep()
    lengthen_pauses(workspace)  # the next worker goes on with what is due
    assert not start_worker(workspace, poison=poison).is_killed()
    assert results_of(workspace, [healthy])[0].status == "processed"
    for _ in range(2):
        end_pauses(workspace)
        assert start_worker(workspace, poison=poison).is_killed()
        expire_leases(workspace)
        sweep()
    job = job_of(poison)
    assert (job.state, job.attempts) == ("parked", 3)
    assert results_of(workspace, [poison])[0].status == "dead"
    assert_clean(workspace)


def test_a_worker_that_wakes_after_its_lease_discards_its_result(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    [event_id] = receive(workspace, FACTS[0])
    slow = claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=event_id)

    def another_worker_takes_over() -> None:
        time_passes(workspace)
        drain(workspace)

    once_at(monkeypatch, "leaf.after_file", another_worker_takes_over)
    run_job(slow)
    job = job_of(event_id)
    assert (job.state, job.attempts, job.error) == ("done", 2, "")
    assert results_of(workspace, [event_id])[0].status == "processed"
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.leaves.count() == 1
    drain(workspace)
    assert_clean(workspace)


def test_a_late_failure_leaves_the_new_holders_event_alone(workspace: Workspace) -> None:
    [event_id] = receive(workspace, FACTS[0])
    slow = claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=event_id)
    time_passes(workspace)
    claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=event_id)

    with workspace_scope(workspace, ALL_SCOPES):
        workspace.events.filter(id=event_id).update(status="processing")
    fail_job(slow, error="late")
    assert results_of(workspace, [event_id])[0].status == "processing"
    recover(workspace)


def run_every_attempt(workspace: Workspace) -> None:
    for _ in range(MAX_ATTEMPTS):
        end_pauses(workspace)
        drain(workspace)


def test_a_job_of_a_newer_release_is_parked_and_not_taken_for_done(workspace: Workspace) -> None:
    first, second = receive(workspace, *FACTS)
    with system_scope():
        Job.objects.filter(id=job_of(first).id).update(payload={"version": 2})
        Job.objects.filter(id=job_of(second).id).update(topic="event.weighed")
    run_every_attempt(workspace)
    assert [state for _, state, _ in unfinished_jobs(workspace)] == ["parked", "parked"]
    assert all("job_not_understood" in error for _, _, error in unfinished_jobs(workspace))
    with system_scope():  # the release that knows them comes
        Job.objects.filter(workspace=workspace).update(payload={}, topic=Job.Topic.EVENT_RECEIVED)
        parked = list(Job.objects.filter(workspace=workspace).values_list("id", flat=True))
    for job_id in parked:
        retry_job(workspace, scopes=ALL_SCOPES, job_id=job_id)
    drain(workspace)
    assert [result.status for result in results_of(workspace, [first, second])] == ["processed"] * 2
    assert_clean(workspace)


@pytest.mark.parametrize("cause", [DiskFull, DeadlockDetected, AdminShutdown])
def test_what_the_database_refuses_for_its_own_state_is_tried_without_end(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, cause: type[DatabaseFault]
) -> None:
    [event_id] = receive(workspace, FACTS[0])

    def point(name: str) -> None:
        if name == "leaf.before_commit":
            raise OperationalError("refused") from cause()

    with monkeypatch.context() as patch:
        patch.setattr(faults, "point", point)
        for _ in range(MAX_ATTEMPTS + 1):
            end_pauses(workspace)
            drain(workspace)
    job = job_of(event_id)
    assert (job.state, job.attempts) == ("ready", 0)
    assert cause.__name__ in job.error
    recover(workspace)
    assert results_of(workspace, [event_id])[0].status == "processed"


def test_a_lost_wake_up_is_sent_again_by_the_sweep(workspace: Workspace) -> None:
    [event_id] = receive(workspace, FACTS[0])
    OrmQ.objects.all().delete()
    assert sweep() >= 1
    assert OrmQ.objects.count() >= 1
    drain(workspace)
    assert results_of(workspace, [event_id])[0].status == "processed"
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)
