"""Two workers at once: one active leaf, one tree, one successor, one consistent summary."""

import threading
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.faults.gates import GATE_SECONDS, claim, meet_at, once_at, run_together
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
from workspaces.bodies import read_markdown
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.jobs import ClaimedJob
from workspaces.services.results import EventResult
from workspaces.services.worker import run_job

MONDAY = "The deployment window of the Atlas gateway is Monday from 10:00 to 12:00."
TUESDAY = "The deployment window of the Atlas gateway is now Tuesday from 10:00 to 12:00."
FRIDAY = "The deployment window of the Atlas gateway is now Friday from 10:00 to 12:00."


def received(workspace: Workspace, *drafts: EventDraft) -> list[UUID]:
    return receive_events(workspace, drafts=drafts, principal=principal_of(workspace)).event_ids


def claim_events(workspace: Workspace, *drafts: EventDraft) -> list[ClaimedJob]:
    return [
        claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=event_id)
        for event_id in received(workspace, *drafts)
    ]


def race(
    monkeypatch: pytest.MonkeyPatch, workspace: Workspace, *drafts: EventDraft
) -> list[EventResult]:
    """All drafts at once: every worker has written its file before any commits its row."""
    jobs = claim_events(workspace, *drafts)
    meet_at(monkeypatch, "leaf.after_file", workers=len(jobs))
    run_together(jobs)
    monkeypatch.undo()
    drain(workspace)
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)
    return results_of(workspace, [job.target_id for job in jobs])


@pytest.mark.parametrize("workers", [2, 4])
def test_the_same_text_at_once_ends_in_one_active_leaf(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    remember(workspace, draft("Mara Lindqvist owns the Atlas gateway."))
    text = "The Atlas gateway listens on port 8443."
    results = race(
        monkeypatch, workspace, *[draft(text, minutes=number) for number in range(workers)]
    )
    outcomes = sorted(result.chunks[0].outcome for result in results)
    assert outcomes == ["created", *["noop_duplicate"] * (workers - 1)]
    assert len({result.chunks[0].leaf_id for result in results}) == 1


def test_the_first_two_memories_of_an_entity_share_one_tree(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = race(
        monkeypatch,
        workspace,
        draft("The Atlas gateway listens on port 8443."),
        draft("The Atlas gateway was rewritten in Go during the winter."),
    )
    assert {result.chunks[0].outcome for result in results} == {"created"}
    assert len({result.chunks[0].tree_id for result in results}) == 1
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.trees.count() == 1
        assert workspace.entities.count() == 1


def test_two_successors_of_one_leaf_form_a_chain(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workspace, draft(MONDAY))
    race(monkeypatch, workspace, draft(TUESDAY, minutes=60), draft(FRIDAY, minutes=120))
    with workspace_scope(workspace, ALL_SCOPES):
        active = list(workspace.leaves.filter(status="active").values_list("observed_at"))
        newest = workspace.leaves.order_by("-observed_at").values_list("observed_at")[0]
    assert active == [newest]


def test_two_values_of_one_subject_at_once_leave_the_newer_one(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workspace, draft("The Atlas gateway was rewritten in Go during the winter."))
    race(monkeypatch, workspace, draft(MONDAY, minutes=60), draft(TUESDAY, minutes=120))
    with workspace_scope(workspace, ALL_SCOPES):
        statuses = [leaf.status for leaf in workspace.leaves.order_by("observed_at")]
    assert statuses == ["active", "superseded", "active"]


def test_two_revisions_of_one_object_at_once_leave_the_newer_one(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    source: dict[str, Any] = {
        "kind": "document_revision",
        "provider": "files",
        "account": "docs",
    }
    remember(workspace, draft("Another.", external_id="b", **source))
    drafts = [draft(f"Port {n}.", minutes=n, external_id="a", **source) for n in (1, 2)]
    race(monkeypatch, workspace, *drafts)
    with workspace_scope(workspace, ALL_SCOPES):
        statuses = [leaf.status for leaf in workspace.leaves.order_by("observed_at")]
    assert statuses == ["active", "superseded", "active"]


def test_words_that_come_back_while_they_are_replaced_are_kept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workspace, draft(MONDAY))
    [between] = claim_events(workspace, draft(TUESDAY, minutes=60))
    [back] = claim_events(workspace, draft(MONDAY, minutes=120))
    once_at(monkeypatch, "chunk.planned", lambda: run_job(between))
    run_job(back)
    monkeypatch.undo()
    drain(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        [leaf] = workspace.leaves.filter(status="active", chunk__event=back.target_id)
    assert read_markdown(leaf.body_path) == MONDAY


def test_two_batches_with_the_same_items_in_another_order_do_not_wait_for_each_other(
    workspace: Workspace,
) -> None:
    drafts = [draft(f"Fact {n}.", external_id=f"item-{n}") for n in range(150)]
    answers: list[list[UUID]] = []

    def send(batch: list[EventDraft]) -> None:
        try:
            answers.append(received(workspace, *batch))
        finally:
            connection.close()

    senders = [
        threading.Thread(target=send, args=(b,), daemon=True) for b in (drafts, drafts[::-1])
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(GATE_SECONDS)
    first, second = answers
    assert first == second[::-1]


def seal_while(
    monkeypatch: pytest.MonkeyPatch, workspace: Workspace, *drafts: EventDraft, at: str
) -> None:
    """Run the queued pass over the Atlas tree; these events are processed when it is at a point."""
    with workspace_scope(workspace, ALL_SCOPES):
        tree = workspace.trees.get(key="interaction:atlas-gateway")
    seal = claim(workspace, topic=Job.Topic.TREE_DIRTY, target_id=tree.id)

    def interfere() -> None:
        for job in claim_events(workspace, *drafts):
            run_job(job)

    once_at(monkeypatch, at, interfere)
    run_job(seal)
    monkeypatch.undo()
    drain(workspace)
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


def fill_buffer(workspace: Workspace, *drafts: EventDraft) -> None:
    """Process events, and leave the pass over the tree that they make due for later."""
    for job in claim_events(workspace, *drafts):
        run_job(job)


@pytest.mark.parametrize("at", ["seal.after_draft", "seal.before_swap"])
def test_a_leaf_that_comes_during_a_seal_waits_in_the_buffer(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    fill_buffer(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:8])])
    seal_while(monkeypatch, workspace, draft(ATLAS_FACTS[8], minutes=30), at=at)
    with workspace_scope(workspace, ALL_SCOPES):
        [node] = workspace.summaries.filter(status="sealed")
        buffer = list(workspace.leaves.filter(parent=None).values_list("id", flat=True))
    assert (len(node.child_ids), len(buffer)) == (8, 1)
    assert buffer[0] not in node.child_ids


@pytest.mark.parametrize("at", ["seal.after_draft", "seal.before_swap", "seal.after_swap"])
def test_a_leaf_replaced_during_a_seal_is_in_no_current_summary(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    facts = [draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:7])]
    fill_buffer(workspace, *facts, draft(MONDAY, minutes=10))
    seal_while(monkeypatch, workspace, draft(TUESDAY, minutes=60), at=at)
    with workspace_scope(workspace, ALL_SCOPES):
        old = workspace.leaves.get(status="superseded")
        current = workspace.summaries.filter(status__in=["sealed", "stale"])
        assert [node.id for node in current if old.id in node.child_ids] == []
