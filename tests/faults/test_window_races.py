"""Two workers, each with a window of events of one workspace: nothing lost, nothing doubled."""

import threading
from collections import Counter
from collections.abc import Sequence

import pytest
from django.db import connection

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.faults.gates import GATE_SECONDS, claim, meet_at
from tests.sampling import sampled
from tests.verification import assert_clean
from tests.workspaces.memory import (
    ATLAS_FACTS,
    draft,
    drain,
    principal_of,
    remember,
    results_of,
    unfinished_jobs,
)
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.jobs import ClaimedJob
from workspaces.services.results import EventResult
from workspaces.services.worker import run_jobs

OWNER = "Mara Lindqvist owns the Atlas gateway."


def window_of(workspace: Workspace, drafts: Sequence[EventDraft]) -> list[ClaimedJob]:
    received = receive_events(workspace, drafts=drafts, principal=principal_of(workspace))
    return [
        claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=event_id)
        for event_id in received.event_ids
    ]


def run_windows(windows: Sequence[Sequence[ClaimedJob]]) -> None:
    def run(jobs: Sequence[ClaimedJob]) -> None:
        try:
            run_jobs(jobs)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(jobs,), daemon=True) for jobs in windows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GATE_SECONDS * 2)
    assert not any(thread.is_alive() for thread in threads)


def race(
    monkeypatch: pytest.MonkeyPatch,
    workspace: Workspace,
    *batches: Sequence[EventDraft],
    at: str,
) -> list[list[EventResult]]:
    windows = [window_of(workspace, drafts) for drafts in batches]
    meet_at(monkeypatch, at, workers=len(windows))
    run_windows(windows)
    monkeypatch.undo()
    drain(workspace)
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)
    return [results_of(workspace, [job.target_id for job in jobs]) for jobs in windows]


def texts(facts: Sequence[str], *, minutes: int = 0) -> list[EventDraft]:
    return [draft(text, minutes=minutes + n) for n, text in enumerate(facts)]


@pytest.mark.parametrize(
    "at", sampled(["chunk.planned", "leaf.after_file"], fast=("leaf.after_file",))
)
def test_two_windows_with_the_same_texts_make_each_memory_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    remember(workspace, draft(OWNER))
    facts = ATLAS_FACTS[:4]
    results = race(
        monkeypatch, workspace, texts(facts, minutes=10), texts(facts, minutes=40), at=at
    )
    chunks = [chunk for window in results for result in window for chunk in result.chunks]
    assert Counter(chunk.outcome for chunk in chunks) == {"created": 4, "noop_duplicate": 4}
    assert len({chunk.leaf_id for chunk in chunks}) == 4
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.leaves.filter(status="active").count() == 5


@pytest.mark.slow
def test_two_windows_of_one_new_entity_share_its_tree(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = race(
        monkeypatch,
        workspace,
        texts(ATLAS_FACTS[:3]),
        texts(ATLAS_FACTS[3:6], minutes=30),
        at="chunk.planned",
    )
    outcomes = [result.chunks[0].outcome for window in results for result in window]
    assert outcomes == ["created"] * 6
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.trees.count() == 1
        assert workspace.leaves.filter(status="active").count() == 6


def test_two_windows_with_successors_of_one_leaf_leave_the_newest(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = "The deployment window of the Atlas gateway is {} from 10:00 to 12:00."
    remember(workspace, draft(window.format("Monday")))
    race(
        monkeypatch,
        workspace,
        [*texts(ATLAS_FACTS[:2], minutes=10), draft(window.format("now Tuesday"), minutes=60)],
        [*texts(ATLAS_FACTS[2:4], minutes=20), draft(window.format("now Friday"), minutes=120)],
        at="leaf.after_file",
    )
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.leaves.filter(title__contains="deployment window")
        statuses = list(rows.order_by("observed_at").values_list("status", flat=True))
    assert statuses == ["superseded", "superseded", "active"]
