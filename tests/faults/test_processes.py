"""Two and more worker processes at the same work: the lease decides whose result counts."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from tests.faults import child
from tests.faults.crash import end_pauses, expire_leases, start_worker
from tests.faults.gate_locks import START, gate, wait_until_somebody_waits_for_a_row
from tests.faults.processes import start
from tests.faults.test_races import claim_events, fill_buffer
from tests.verification import assert_clean
from tests.workspaces.memory import (
    ATLAS_FACTS,
    draft,
    drain,
    principal_of,
    results_of,
    unfinished_jobs,
)
from workspaces.bodies import body_storage
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LIVE_SUMMARIES
from workspaces.services.intake import receive_events
from workspaces.services.jobs import sweep

DELIVERIES = 5


def receive(workspace: Workspace, text: str) -> UUID:
    received = receive_events(workspace, drafts=[draft(text)], principal=principal_of(workspace))
    return received.event_ids[0]


def job_of(target_id: UUID) -> Job:
    with system_scope():
        return Job.objects.get(target_id=target_id, topic=Job.Topic.EVENT_RECEIVED)


def seal_job(workspace: Workspace) -> Job:
    with system_scope():
        return Job.objects.get(workspace=workspace, topic=Job.Topic.TREE_DIRTY, state="ready")


def lease_runs_out(workspace: Workspace) -> None:
    expire_leases(workspace)
    sweep()
    end_pauses(workspace)


def files_of(workspace: Workspace) -> set[str]:
    """Bodies on disk, by id."""
    folder = Path(body_storage().path(f"{workspace.tenant.slug}/{workspace.slug}/memory"))
    return {path.stem for path in folder.rglob("*.md")}


def rows_of(workspace: Workspace) -> set[str]:
    with workspace_scope(workspace, ALL_SCOPES):
        ids = [
            *workspace.leaves.values_list("id", flat=True),
            *workspace.summaries.values_list("id", flat=True),
        ]
    return {str(node_id) for node_id in ids}


def settle(workspace: Workspace) -> None:
    drain(workspace)
    assert unfinished_jobs(workspace) == []
    assert files_of(workspace) == rows_of(workspace)
    assert_clean(workspace)


def test_a_worker_that_wakes_after_its_lease_leaves_nothing_behind(workspace: Workspace) -> None:
    event_id = receive(workspace, ATLAS_FACTS[0])
    with gate("leaf.after_file") as closed:
        slow = start_worker(workspace, gate=closed)
        closed.wait_until_reached()
        lease_runs_out(workspace)
        assert start_worker(workspace).wait() == 0
        closed.open()
        assert slow.wait() == 0
    job = job_of(event_id)
    assert (job.state, job.attempts, job.error) == ("done", 2, "")
    assert len(rows_of(workspace)) == 1
    settle(workspace)


def test_one_job_delivered_to_five_workers_is_run_by_one(workspace: Workspace) -> None:
    event_id = receive(workspace, ATLAS_FACTS[0])
    job = job_of(event_id)
    with gate(START) as closed:
        workers = [start(child.work_on, job.id, gate=closed) for _ in range(DELIVERIES)]
        closed.wait_until_reached(DELIVERIES)
        closed.open()
        assert [worker.wait() for worker in workers] == [0] * DELIVERIES
    assert (job_of(event_id).state, job_of(event_id).attempts) == ("done", 1)
    settle(workspace)


@pytest.mark.slow
def test_one_job_run_by_five_workers_at_once_has_one_effect(workspace: Workspace) -> None:
    """Each has lost its lease to the next, and none knows it yet."""
    event_id = receive(workspace, ATLAS_FACTS[0])
    job = job_of(event_id)
    with gate("leaf.after_file") as closed:
        workers = []
        for number in range(1, DELIVERIES + 1):
            _make_ready(job.id)
            workers.append(start(child.work_on, job.id, gate=closed))
            closed.wait_until_reached(number)
        closed.open()
        assert [worker.wait() for worker in workers] == [0] * DELIVERIES
    assert job_of(event_id).state == "done"
    assert results_of(workspace, [event_id])[0].status == "processed"
    settle(workspace)
    assert len(rows_of(workspace)) == 1


def _make_ready(job_id: UUID) -> None:
    """As if nobody had taken it: not even the attempt is counted, or it would be parked."""
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workspaces_job SET state = 'ready', attempts = 0, lease_token = NULL,"
            " lease_until = NULL WHERE id = %s",
            [job_id],
        )


def full_buffer(workspace: Workspace, *, leaves: int = 8) -> None:
    facts = [draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:leaves])]
    fill_buffer(workspace, *facts)


def sealed_children(workspace: Workspace) -> list[Sequence[UUID]]:
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.summaries.filter(status__in=LIVE_SUMMARIES)
        return [list(ids) for ids in rows.values_list("child_ids", flat=True)]


def buffer_of(workspace: Workspace) -> list[UUID]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.leaves.filter(parent=None).values_list("id", flat=True))


def test_two_workers_that_seal_one_tree_make_one_summary(workspace: Workspace) -> None:
    full_buffer(workspace)
    job = seal_job(workspace)
    with gate("seal.before_swap") as closed:
        slow = start(child.work_on, job.id, gate=closed)
        closed.wait_until_reached()
        lease_runs_out(workspace)
        assert start(child.work_on, job.id).wait() == 0
        closed.open()
        assert slow.wait() == 0
    assert [len(ids) for ids in sealed_children(workspace)] == [8]
    assert buffer_of(workspace) == []
    settle(workspace)


@pytest.mark.parametrize("at", ["seal.after_draft", "seal.in_swap"])
def test_a_leaf_that_comes_while_another_process_seals_is_in_one_place(
    workspace: Workspace, at: str
) -> None:
    full_buffer(workspace)
    [late] = [receive(workspace, ATLAS_FACTS[8])]
    with gate(at) as closed:
        sealing = start(child.work_on, seal_job(workspace).id, gate=closed)
        closed.wait_until_reached()
        writing = start(child.work_on, job_of(late).id)
        if at == "seal.in_swap":  # the tree is held: the leaf waits for the switch
            wait_until_somebody_waits_for_a_row()
        else:
            assert writing.wait() == 0
        closed.open()
        assert [sealing.wait(), writing.wait()] == [0, 0]
    settle(workspace)
    [children], buffer = sealed_children(workspace), buffer_of(workspace)
    assert (len(children), len(buffer)) == (8, 1)
    assert buffer[0] not in children


def test_the_tools_of_this_module_see_a_second_effect(workspace: Workspace) -> None:
    """Two leaves are two rows with two files: what the tests above compare can differ."""
    claimed = claim_events(workspace, draft(ATLAS_FACTS[0]), draft(ATLAS_FACTS[1], minutes=1))
    assert len(claimed) == 2
    lease_runs_out(workspace)
    drain(workspace)
    assert len(rows_of(workspace)) == len(files_of(workspace)) == 2
