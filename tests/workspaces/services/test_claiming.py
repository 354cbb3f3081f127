"""Whose turn it is: a flood of one tenant delays nobody, and poison comes alone."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from holamem.clock import now
from holamem.database.scope import system_scope, workspace_scope
from holamem.errors import InvalidInput
from holamem.ids import new_id
from tests.workspaces.memory import draft, drain, principal_of
from workspaces.models.jobs import MAX_ATTEMPTS, Job
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services import jobs, worker
from workspaces.services.claiming import Turns
from workspaces.services.intake import receive_events
from workspaces.services.jobs import ClaimedJob, TurnOver, claim_job, finish_jobs
from workspaces.services.tenants import create_workspace

TOPIC = Job.Topic.ENTITY_CHANGED


@pytest.fixture
def others(tenant: Tenant) -> list[Workspace]:
    return [create_workspace(tenant, slug=f"w-{n}", name="Another") for n in range(3)]


def queue(workspace: Workspace, *, target: UUID | None = None) -> UUID:
    target = target or new_id()
    with workspace_scope(workspace):
        jobs.add_job(workspace, topic=TOPIC, target_id=target, scope_id=workspace.id)
        return workspace.jobs.get(target_id=target, state=Job.State.READY).id


def empty_the_ledger() -> None:
    """What other tests have left would take turns, too."""
    turns = Turns()
    while claimed := turns.claim():
        finish_jobs(claimed)


def served(workspaces: Sequence[Workspace], *, count: int) -> list[UUID]:
    turns, mine = Turns(), {workspace.id for workspace in workspaces}
    order: list[UUID] = []
    while len(order) < count and (claimed := turns.claim()):
        order += [job.workspace_id for job in claimed if job.workspace_id in mine]
        finish_jobs(claimed)
    return order


def job_row(job_id: UUID) -> Job:
    with system_scope():
        return Job.objects.get(id=job_id)


def test_a_flood_of_one_workspace_delays_no_other(
    workspace: Workspace, others: list[Workspace]
) -> None:
    empty_the_ledger()
    for _ in range(40):
        queue(workspace)
    for other in others:
        queue(other)
    first = served([workspace, *others], count=8)
    assert {other.id for other in others} <= set(first)


def test_workspaces_take_turns_in_a_round(others: list[Workspace]) -> None:
    empty_the_ledger()
    for other in others:
        for _ in range(3):
            queue(other)
    order = served(others, count=9)
    rounds = [order[start : start + 3] for start in (0, 3, 6)]
    assert [set(one) for one in rounds] == [{other.id for other in others}] * 3


def test_events_of_one_scope_are_taken_together_and_in_order(workspace: Workspace) -> None:
    empty_the_ledger()
    drafts = [draft(f"Fact number {n}.") for n in range(5)]
    private = [draft("A private fact.", user_id="anna")]
    principal = principal_of(workspace)
    shared = receive_events(workspace, drafts=drafts, principal=principal).event_ids
    receive_events(workspace, drafts=private, principal=principal)
    claimed = Turns().claim()
    assert [job.target_id for job in claimed] == shared
    assert [job.attempts for job in claimed] == [1] * 5
    worker.run_jobs(claimed)
    drain(workspace)


def test_what_has_failed_before_is_tried_alone(workspace: Workspace) -> None:
    empty_the_ledger()
    drafts = [draft(f"Fact number {n}.") for n in range(3)]
    ids = receive_events(workspace, drafts=drafts, principal=principal_of(workspace)).event_ids
    with system_scope():
        Job.objects.filter(target_id=ids[0]).update(attempts=1)
    assert [job.target_id for job in Turns().claim()] == [ids[0]]
    drain(workspace)


def test_poison_whose_work_is_asked_for_again_and_again_is_parked(workspace: Workspace) -> None:
    target = new_id()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        job_id = queue(workspace, target=target)
        claimed = claim_now(job_id)
        assert claimed.attempts == attempt
        queue(workspace, target=target)  # the twin
        jobs.fail_job(claimed, error="poison")
    with workspace_scope(workspace):
        states = sorted(workspace.jobs.filter(target_id=target).values_list("state", flat=True))
    assert states.count("parked") == 1
    assert "ready" not in states


def test_a_change_after_parking_gets_one_attempt(workspace: Workspace) -> None:
    target = new_id()
    for _ in range(MAX_ATTEMPTS):
        jobs.fail_job(claim_now(queue(workspace, target=target)), error="poison")
    later = queue(workspace, target=target)
    jobs.fail_job(claim_now(later), error="poison again")
    with workspace_scope(workspace):
        parked = workspace.jobs.filter(target_id=target, state=Job.State.PARKED)
        assert [(job.id, job.error) for job in parked] == [(later, "poison again")]


def test_success_also_settles_what_was_parked(workspace: Workspace) -> None:
    target = new_id()
    parked = queue(workspace, target=target)
    jobs.fail_job(claim_now(parked), error="poison", retry=False)
    assert job_row(parked).state == "parked"
    jobs.finish_job(claim_now(queue(workspace, target=target)))
    assert job_row(parked).state == "done"


def test_an_outage_keeps_its_pause_when_the_work_is_asked_for_again(workspace: Workspace) -> None:
    target = new_id()
    claimed = claim_now(queue(workspace, target=target))
    twin = queue(workspace, target=target)
    jobs.postpone_job(claimed, error="down", delay_seconds=60)
    assert (job_row(twin).attempts, job_row(twin).next_try_at > now()) == (0, True)


def test_one_bad_job_of_a_batch_stops_no_other(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_the_ledger()
    bad, late, good = (queue(workspace) for _ in range(3))

    def handler(workspace: Workspace, batch: Sequence[ClaimedJob]) -> dict[UUID, Exception]:
        return {bad: InvalidInput("broken"), late: TurnOver()}

    monkeypatch.setitem(jobs._batch_handlers, TOPIC, (handler, 8))
    worker.run_jobs(Turns().claim())
    assert [job_row(job).state for job in (bad, late, good)] == ["ready", "ready", "done"]
    assert [job_row(job).attempts for job in (bad, late)] == [1, 0]


def claim_now(job_id: UUID) -> ClaimedJob:
    """Whatever pause it has."""
    with system_scope():
        Job.objects.filter(id=job_id).update(next_try_at=now())
    claimed = claim_job(job_id)
    assert claimed is not None
    assert claimed.id == job_id
    return claimed
