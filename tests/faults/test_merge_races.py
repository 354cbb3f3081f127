"""A merge against writes, renames and other merges at the same moment: one clear outcome."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from django.db import connection

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict
from tests.faults.gates import claim, once_at
from tests.faults.test_races import claim_events
from tests.verification import assert_clean
from tests.workspaces.entities import (
    ATLAS,
    ATLAS_TEXTS,
    BOREALIS,
    BOREALIS_TEXTS,
    SPEAKS_OF_BOREALIS,
    entity,
    found_by_words,
    last_merge,
    merge,
    remember_gateways,
    rename,
    speaking_of,
    texts_of,
    undo,
)
from tests.workspaces.memory import draft, drain, unfinished_jobs
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.entities.changes import EntityChanged
from workspaces.services.jobs import sweep
from workspaces.services.worker import run_job

pytestmark = pytest.mark.slow  # threads and real pauses; the merge itself is tested without

WAIT_SECONDS = 60
FRANKFURT = "The staging copy of the Borealis gateway lives in Frankfurt."


@pytest.fixture
def gateways(workspace: Workspace) -> Workspace:
    remember_gateways(workspace)
    return workspace


def settle(workspace: Workspace) -> None:
    drain(workspace)
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


def at_once(calls: Sequence[Callable[[], EntityChanged]]) -> list[EntityChanged | Conflict]:
    """Each in a thread with a connection of its own, all let go in the same moment."""
    barrier = threading.Barrier(len(calls))
    answers: list[EntityChanged | Conflict] = []

    def run(call: Callable[[], EntityChanged]) -> None:
        try:
            barrier.wait(WAIT_SECONDS)
            answers.append(call())
        except Conflict as error:
            answers.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert len(answers) == len(calls)
    return answers


def test_the_same_merge_twice_at_once_is_one_merge(gateways: Workspace) -> None:
    first, second = at_once([lambda: merge(gateways, BOREALIS, ATLAS)] * 2)
    assert first == second
    with workspace_scope(gateways, ALL_SCOPES):
        assert gateways.merges.count() == 1
    settle(gateways)
    assert texts_of(gateways, ATLAS) == sorted([*ATLAS_TEXTS, *BOREALIS_TEXTS])


def test_two_entities_merged_into_each_other_at_once_become_one(gateways: Workspace) -> None:
    answers = at_once(
        [lambda: merge(gateways, BOREALIS, ATLAS), lambda: merge(gateways, ATLAS, BOREALIS)]
    )
    assert sorted(type(answer).__name__ for answer in answers) == ["Conflict", "EntityChanged"]
    settle(gateways)
    everything = sorted([*ATLAS_TEXTS, *BOREALIS_TEXTS])
    assert [texts_of(gateways, ATLAS), texts_of(gateways, BOREALIS)] in (
        [everything, []],
        [[], everything],
    )


def test_two_renames_to_one_name_at_once_give_it_to_one(gateways: Workspace) -> None:
    answers = at_once(
        [partial(rename, gateways, slug, "Polar gateway") for slug in (BOREALIS, ATLAS)]
    )
    assert sorted(type(answer).__name__ for answer in answers) == ["Conflict", "EntityChanged"]
    settle(gateways)


def elsewhere(act: Callable[..., None], *arguments: object) -> None:
    """To its end in a thread with a connection of its own: this one may be in a step."""

    def run() -> None:
        try:
            act(*arguments)
        finally:
            connection.close()

    other = threading.Thread(target=run, daemon=True)
    other.start()
    other.join(WAIT_SECONDS)
    assert not other.is_alive()


def merge_and_drain(workspace: Workspace) -> None:
    merge(workspace, BOREALIS, ATLAS)
    drain(workspace)


@pytest.mark.parametrize("at", ["chunk.judged", "chunk.planned", "leaf.after_file"])
def test_a_write_that_was_planned_before_a_merge_lands_with_the_target(
    gateways: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    [write] = claim_events(gateways, draft(FRANKFURT, minutes=50))
    once_at(monkeypatch, at, lambda: elsewhere(merge_and_drain, gateways))
    run_job(write)
    monkeypatch.undo()
    settle(gateways)
    assert FRANKFURT in texts_of(gateways, ATLAS)
    assert texts_of(gateways, BOREALIS) == []


def test_a_merge_waits_for_a_leaf_that_is_being_committed(
    gateways: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    [write] = claim_events(gateways, draft(FRANKFURT, minutes=50))
    asked = threading.Thread(target=merge_and_close, args=(gateways,), daemon=True)

    def interfere() -> None:
        asked.start()
        wait_until_blocked()

    once_at(monkeypatch, "leaf.before_commit", interfere)
    run_job(write)
    monkeypatch.undo()
    asked.join(WAIT_SECONDS)
    assert not asked.is_alive()
    settle(gateways)
    assert FRANKFURT in texts_of(gateways, ATLAS)
    assert texts_of(gateways, BOREALIS) == []


def merge_and_close(workspace: Workspace) -> None:
    try:
        merge(workspace, BOREALIS, ATLAS)
    finally:
        connection.close()


def wait_until_blocked() -> None:
    """Until another session waits for a lock that this one holds."""
    blocked = (
        "SELECT count(*) FROM pg_locks AS l WHERE NOT l.granted"
        " AND pg_backend_pid() = ANY (pg_blocking_pids(l.pid))"
    )
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(blocked)
            if cursor.fetchone()[0]:
                return
    raise AssertionError("nobody waits")


def test_a_mention_that_was_planned_before_a_merge_speaks_of_the_target(
    gateways: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Mara Lindqvist wrote the handbook of the Borealis gateway."
    [write] = claim_events(gateways, draft(text, minutes=50))
    once_at(monkeypatch, "leaf.after_file", lambda: elsewhere(merge_and_drain, gateways))
    run_job(write)
    monkeypatch.undo()
    settle(gateways)
    assert speaking_of(gateways, BOREALIS) == []
    assert text in [*speaking_of(gateways, ATLAS), *texts_of(gateways, ATLAS)]


def test_a_write_that_was_planned_before_a_rename_is_found_by_the_new_name(
    gateways: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    [write] = claim_events(gateways, draft(FRANKFURT, minutes=50))

    def interfere() -> None:
        rename(gateways, BOREALIS, "Polar gateway")
        drain(gateways)

    once_at(monkeypatch, "leaf.after_file", lambda: elsewhere(interfere))
    run_job(write)
    monkeypatch.undo()
    settle(gateways)
    assert FRANKFURT in found_by_words(gateways, "polar gateway")


@pytest.mark.parametrize("at", ["names.read", "names.before_commit"])
def test_a_rename_during_a_refresh_is_not_lost(
    gateways: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    rename(gateways, BOREALIS, "Polar gateway")
    refresh = claim(gateways, topic=Job.Topic.ENTITY_NAMES, target_id=entity(gateways, BOREALIS).id)
    asked = threading.Thread(
        target=rename_and_close, args=(gateways, "Arctic gateway"), daemon=True
    )

    def interfere() -> None:
        asked.start()
        if at == "names.before_commit":
            wait_until_blocked()
        else:
            asked.join(WAIT_SECONDS)

    once_at(monkeypatch, at, interfere)
    run_job(refresh)
    monkeypatch.undo()
    asked.join(WAIT_SECONDS)
    settle(gateways)
    everything = sorted([*BOREALIS_TEXTS, SPEAKS_OF_BOREALIS])
    assert found_by_words(gateways, "arctic gateway") == everything


def rename_and_close(workspace: Workspace, name: str) -> None:
    try:
        rename(workspace, BOREALIS, name)
    finally:
        connection.close()


@pytest.mark.parametrize("at", ["move.after_files", "merge.after_commit", "merge.mentions"])
def test_an_undo_during_a_merge_turns_it_round(
    gateways: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    merged = merge(gateways, BOREALIS, ATLAS)
    running = claim(gateways, topic=Job.Topic.ENTITY_MERGE, target_id=last_merge(gateways).id)
    asked = threading.Thread(target=undo_and_close, args=(gateways, merged), daemon=True)

    def interfere() -> None:
        asked.start()
        if at == "merge.mentions":
            wait_until_blocked()
        else:
            asked.join(WAIT_SECONDS)

    once_at(monkeypatch, at, interfere)
    run_job(running)
    monkeypatch.undo()
    asked.join(WAIT_SECONDS)
    settle(gateways)
    assert texts_of(gateways, ATLAS) == sorted(ATLAS_TEXTS)
    assert texts_of(gateways, BOREALIS) == sorted(BOREALIS_TEXTS)
    assert speaking_of(gateways, BOREALIS) == [SPEAKS_OF_BOREALIS]


def undo_and_close(workspace: Workspace, merged: EntityChanged) -> None:
    try:
        undo(workspace, merged)
    finally:
        connection.close()


def test_a_worker_that_lost_its_lease_moves_nothing(
    gateways: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.faults.crash import end_pauses, expire_leases

    merge(gateways, BOREALIS, ATLAS)
    late = claim(gateways, topic=Job.Topic.ENTITY_MERGE, target_id=last_merge(gateways).id)

    def interfere() -> None:
        expire_leases(gateways)
        sweep()
        end_pauses(gateways)
        drain(gateways)

    once_at(monkeypatch, "move.after_files", interfere)
    run_job(late)
    monkeypatch.undo()
    settle(gateways)
    assert texts_of(gateways, ATLAS) == sorted([*ATLAS_TEXTS, *BOREALIS_TEXTS])
    assert last_merge(gateways).leaves_done == len(BOREALIS_TEXTS)
