"""The job ledger: nothing depends on a message arriving or on a worker living."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.db.models.functions import Now

from holamem.clock import now
from holamem.database.scope import system_scope, workspace_scope
from holamem.errors import Conflict, InvalidInput, ProviderError
from holamem.ids import new_id
from tests.workspaces.memory import draft, drain, principal_of, results_of
from workspaces.index.embedding import EmbeddingMismatch
from workspaces.models.jobs import MAX_ATTEMPTS, Job
from workspaces.models.tenancy import Workspace
from workspaces.services import jobs, processing, worker
from workspaces.services.intake import receive_events


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """Errors that the handler of `entity.changed` raises, one a run; none left means success."""
    errors: list[Exception] = []

    def handler(workspace: Workspace, job: jobs.ClaimedJob) -> None:
        if errors:
            raise errors.pop(0)

    monkeypatch.setitem(jobs._handlers, Job.Topic.ENTITY_CHANGED, handler)
    return errors


def queue_job(workspace: Workspace) -> UUID:
    target = new_id()
    with workspace_scope(workspace):
        jobs.add_job(workspace, topic="entity.changed", target_id=target, scope_id=workspace.id)
        return workspace.jobs.get(target_id=target).id


def run_now(job_id: UUID) -> Job:
    with system_scope():
        Job.objects.filter(id=job_id).update(next_try_at=Now())
    claimed = jobs.claim_job(job_id)
    assert claimed is not None
    worker.run_job(claimed)
    with system_scope():
        return Job.objects.get(id=job_id)


def test_a_job_that_keeps_failing_is_parked_with_its_error(
    workspace: Workspace, failing: list[Exception]
) -> None:
    failing += [InvalidInput("broken input")] * MAX_ATTEMPTS
    job_id = queue_job(workspace)
    states = [run_now(job_id).state for _ in range(MAX_ATTEMPTS)]
    assert states == ["ready", "ready", "parked"]
    with workspace_scope(workspace):
        assert workspace.jobs.get(id=job_id).error == "invalid: broken input"


def test_an_outage_of_a_provider_does_not_use_up_attempts(
    workspace: Workspace, failing: list[Exception]
) -> None:
    failing += [ProviderError("down", retryable=True, retry_after_seconds=1)] * 5
    job_id = queue_job(workspace)
    for _ in range(5):
        job = run_now(job_id)
        assert (job.state, job.attempts) == ("ready", 0)
    assert run_now(job_id).state == "done"


def test_a_wrong_embedding_model_is_waited_out_like_an_outage(
    workspace: Workspace, failing: list[Exception]
) -> None:
    failing += [EmbeddingMismatch("Set HOLAMEM_EMBEDDING back.")] * (MAX_ATTEMPTS + 1)
    job_id = queue_job(workspace)
    for _ in range(MAX_ATTEMPTS + 1):
        job = run_now(job_id)
        assert (job.state, job.attempts) == ("ready", 0)
        assert job.error == "embedding_mismatch: Set HOLAMEM_EMBEDDING back."
        assert job.next_try_at > now()
    assert run_now(job_id).state == "done"


def test_a_crash_in_a_handler_stops_no_other_job(
    workspace: Workspace, failing: list[Exception]
) -> None:
    failing.append(ZeroDivisionError())
    first, second = queue_job(workspace), queue_job(workspace)
    assert run_now(first).error == "ZeroDivisionError while running this job"
    assert run_now(second).state == "done"


def test_a_change_during_a_run_is_not_lost(workspace: Workspace) -> None:
    target = new_id()

    def add() -> None:
        with workspace_scope(workspace):
            jobs.add_job(workspace, topic="entity.changed", target_id=target, scope_id=workspace.id)

    add()
    add()
    with workspace_scope(workspace):
        job_id = workspace.jobs.get(target_id=target).id
    claimed = jobs.claim_job(job_id)
    assert claimed is not None
    add()
    with workspace_scope(workspace):
        assert sorted(workspace.jobs.filter(target_id=target).values_list("state", flat=True)) == [
            "ready",
            "running",
        ]
    jobs.finish_job(claimed)
    assert drain(workspace) == 1


def test_a_lease_that_ran_out_gives_the_job_back_and_fences_the_first_worker(
    workspace: Workspace,
) -> None:
    job_id = queue_job(workspace)
    stale = jobs.claim_job(job_id)
    assert stale is not None
    with system_scope():
        Job.objects.filter(id=job_id).update(lease_until=Now() - timedelta(seconds=1))
    jobs.sweep()
    with system_scope():
        job = Job.objects.get(id=job_id)
        assert (job.state, job.attempts) == ("ready", 1)
        Job.objects.filter(id=job_id).update(next_try_at=Now())
    fresh = jobs.claim_job(job_id)
    assert fresh is not None
    with pytest.raises(jobs.LeaseLost):
        jobs.renew_lease(stale)
    with pytest.raises(jobs.LeaseLost), workspace_scope(workspace):
        jobs.require_lease(stale)
    jobs.finish_job(stale)
    with system_scope():
        assert Job.objects.get(id=job_id).state == "running"
    jobs.finish_job(fresh)
    with system_scope():
        assert Job.objects.get(id=job_id).state == "done"


def test_a_parked_event_is_dead_and_can_be_retried(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(workspace: Workspace, job: jobs.ClaimedJob) -> None:
        raise InvalidInput("cannot be read")

    handler = jobs.handler_of("event.received")
    assert handler is not None
    monkeypatch.setitem(jobs._handlers, "event.received", broken)
    received = receive_events(
        workspace, drafts=[draft("Atlas runs on port 1.")], principal=principal_of(workspace)
    )
    with workspace_scope(workspace):
        job_id = workspace.jobs.get(target_id=received.event_ids[0]).id
    for _ in range(MAX_ATTEMPTS):
        run_now(job_id)
    [result] = results_of(workspace, received.event_ids)
    assert (result.status, result.error) == ("dead", "invalid: cannot be read")
    monkeypatch.setitem(jobs._handlers, "event.received", handler)
    jobs.retry_job(workspace, job_id=job_id)
    drain(workspace)
    [result] = results_of(workspace, received.event_ids)
    assert (result.status, result.chunks[0].outcome) == ("processed", "created")


def test_only_waiting_or_parked_work_can_be_cancelled(workspace: Workspace) -> None:
    job_id = queue_job(workspace)
    jobs.cancel_job(workspace, job_id=job_id)
    with workspace_scope(workspace):
        assert workspace.jobs.get(id=job_id).state == "cancelled"
    with pytest.raises(Conflict):
        jobs.cancel_job(workspace, job_id=job_id)
    jobs.retry_job(workspace, job_id=job_id)
    drain(workspace)
    with pytest.raises(Conflict):
        jobs.retry_job(workspace, job_id=job_id)


def test_the_event_of_a_cancelled_job_does_not_look_as_if_it_waited(workspace: Workspace) -> None:
    [event_id] = receive_events(
        workspace, drafts=[draft("A fact.")], principal=principal_of(workspace)
    ).event_ids
    with workspace_scope(workspace):
        job_id = workspace.jobs.get(target_id=event_id).id
    jobs.cancel_job(workspace, job_id=job_id)
    [result] = results_of(workspace, [event_id])
    assert (result.status, result.error) == ("dead", "cancelled")
    jobs.retry_job(workspace, job_id=job_id)
    drain(workspace)
    [result] = results_of(workspace, [event_id])
    assert (result.status, result.error) == ("processed", "")


@pytest.mark.slow
def test_a_long_text_gives_other_jobs_a_turn_and_is_finished(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processing, "PASS_SECONDS", -1.0)
    text = "\n\n".join(f"The Atlas gateway number {n} is in room {n}." * 20 for n in range(4))
    [event_id] = receive_events(
        workspace, drafts=[draft(text)], principal=principal_of(workspace)
    ).event_ids
    drain(workspace)
    [result] = results_of(workspace, [event_id])
    assert result.status == "processed"
    assert len(result.chunks) > 2
    with workspace_scope(workspace):
        assert workspace.jobs.filter(target_id=event_id).count() > 1
