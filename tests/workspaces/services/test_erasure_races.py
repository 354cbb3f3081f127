"""Erasure wins over whatever runs beside it, and over what is sent again afterwards."""

from dataclasses import replace
from uuid import UUID

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.faults.gates import claim, once_at
from tests.verification import assert_clean
from tests.workspaces.erasing import (
    english,
    erase,
    erased,
    leaf_of,
    payload_of,
    sealed_memory,
    statuses,
    workspace_of,
)
from tests.workspaces.memory import (
    ATLAS_FACTS,
    draft,
    drain,
    principal_of,
    remember,
    results_of,
    unfinished_jobs,
)
from tests.workspaces.traces import assert_no_trace, english_canary, tables_holding
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.intake import EventDraft, IdempotencyRequest, receive_events
from workspaces.services.jobs import add_job
from workspaces.services.worker import run_job

pytestmark = pytest.mark.slow  # threads and real pauses; erasure is tested without


def receive(workspace: Workspace, *drafts: EventDraft, **values: object) -> list[UUID]:
    return receive_events(
        workspace,
        drafts=drafts,
        principal=principal_of(workspace),
        **values,  # type: ignore[arg-type]
    ).event_ids


@pytest.mark.parametrize("at", ["seal.after_draft", "seal.after_file", "seal.before_swap"])
def test_a_seal_that_holds_the_text_commits_nothing_and_leaves_no_file(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    workspace, word = workspace_of(tenant), english_canary()
    facts = [draft(fact, minutes=n) for n, fact in enumerate(ATLAS_FACTS[:3])]
    results = remember(workspace, *facts)
    [event_id] = receive(workspace, draft(english(word), minutes=9))
    run_job(claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=event_id))
    [result] = results_of(workspace, [event_id])
    tree_id = results[0].chunks[0].tree_id
    assert tree_id == result.chunks[0].tree_id
    assert tree_id is not None
    seal = claim(workspace, topic=Job.Topic.TREE_DIRTY, target_id=tree_id)
    once_at(monkeypatch, at, lambda: _erase_and_drain(workspace, leaf_of(result)))
    run_job(seal)
    monkeypatch.undo()
    drain(workspace)
    assert_no_trace(word)
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


def _erase_and_drain(workspace: Workspace, leaf_id: UUID) -> None:
    erased(workspace, leaf_id)


@pytest.mark.parametrize("at", ["chunk.planned", "leaf.after_file"])
def test_a_duplicate_on_its_way_does_not_bring_the_text_back(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    workspace, word = workspace_of(tenant), english_canary()
    [first] = remember(workspace, draft(english(word)))
    [event_id] = receive(workspace, draft(english(word), minutes=30))
    with workspace_scope(workspace, ALL_SCOPES):
        # Superseded meanwhile, so that the worker is about to write a leaf of its own.
        workspace.leaves.filter(id=leaf_of(first)).update(status="inactive")
        workspace.trees.update(leaf_count=0)
    duplicate = claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=event_id)
    once_at(monkeypatch, at, lambda: _erase_and_drain(workspace, leaf_of(first)))
    run_job(duplicate)
    monkeypatch.undo()
    drain(workspace)
    [result] = results_of(workspace, [event_id])
    assert [(c.outcome, c.reason) for c in result.chunks] in ([("rejected", "erased")], [])
    assert payload_of(workspace, event_id) == ""
    assert_no_trace(word)
    assert_clean(workspace)


def test_a_link_to_the_erased_leaf_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = english_canary()
    [first] = remember(workspace, draft(english(word)))
    [event_id] = receive(workspace, draft(english(word), minutes=30))
    duplicate = claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=event_id)
    once_at(monkeypatch, "chunk.planned", lambda: _erase_and_drain(workspace, leaf_of(first)))
    run_job(duplicate)
    monkeypatch.undo()
    drain(workspace)
    assert_no_trace(word)
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.leaves.exclude(status="erased").count() == 0
    assert_clean(workspace)


def test_a_successor_on_its_way_becomes_a_memory_of_its_own(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = english_canary(), english_canary()
    [first] = remember(workspace, draft(f"The owner of the Atlas gateway is {old}."))
    [event_id] = receive(workspace, draft(f"The owner of the Atlas gateway is {new}.", minutes=60))
    successor = claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=event_id)
    once_at(monkeypatch, "leaf.after_file", lambda: _erase_and_drain(workspace, leaf_of(first)))
    run_job(successor)
    monkeypatch.undo()
    drain(workspace)
    assert_no_trace(old)
    [result] = results_of(workspace, [event_id])
    assert statuses(workspace, leaf_of(first), leaf_of(result)) == ["erased", "active"]
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.leaves.get(id=leaf_of(result)).supersedes_leaf_id is None
    assert_clean(workspace)


def test_an_event_that_waits_with_the_same_text_loses_it_at_once(workspace: Workspace) -> None:
    word = english_canary()
    [first] = remember(workspace, draft(english(word)))
    receive(workspace, draft(english(word), minutes=30))
    erase(workspace, leaf_of(first))
    assert tables_holding(word) == []
    drain(workspace)
    assert_no_trace(word)
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


def test_an_embedding_on_its_way_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = english_canary()
    [event_id] = receive(workspace, draft(english(word)))
    run_job(claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=event_id))
    [result] = results_of(workspace, [event_id])
    leaf_id = leaf_of(result)
    with workspace_scope(workspace, ALL_SCOPES):
        workspace.vector_entries.filter(node_id=leaf_id).delete()
        add_job(workspace, topic=Job.Topic.NODE_CREATED, target_id=leaf_id, scope_id=workspace.id)
    embed = claim(workspace, topic=Job.Topic.NODE_CREATED, target_id=leaf_id)
    erase(workspace, leaf_id)
    run_job(embed)
    with workspace_scope(workspace, ALL_SCOPES):
        assert not workspace.vector_entries.filter(node_id=leaf_id).exists()
    drain(workspace)
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


def test_the_same_source_item_sent_again_stays_erased(workspace: Workspace) -> None:
    word = english_canary()
    item = draft(english(word), source="chat", external_id="m1")
    [result] = remember(workspace, item)
    erased(workspace, leaf_of(result))
    [again] = remember(workspace, item)
    assert again.event_id == result.event_id
    assert_no_trace(word)
    assert_clean(workspace)


def test_the_same_request_sent_again_stays_erased(workspace: Workspace) -> None:
    word = english_canary()
    request = IdempotencyRequest(
        api_key_id=workspace.id, path="/events", key="once", body_sha256="0" * 64
    )
    [event_id] = receive(workspace, draft(english(word)), idempotency=request)
    drain(workspace)
    [result] = results_of(workspace, [event_id])
    erased(workspace, leaf_of(result))
    assert receive(workspace, draft(english(word)), idempotency=request) == [event_id]
    drain(workspace)
    assert_no_trace(word)


def test_an_import_run_again_stays_erased(workspace: Workspace) -> None:
    """No id of a source, but the same words at the same time: the same statement."""
    word = english_canary()
    [result] = remember(workspace, draft(english(word)))
    erased(workspace, leaf_of(result))
    [again] = remember(workspace, draft(english(word)))
    assert again.event_id != result.event_id
    assert [(c.outcome, c.reason) for c in again.chunks] == [("rejected", "erased")]
    assert_no_trace(word)
    assert_clean(workspace)


def test_a_later_revision_of_the_same_object_does_not_bring_it_back(workspace: Workspace) -> None:
    word = english_canary()
    page = draft(
        english(word),
        kind="document_revision",
        provider="files",
        account="handbook",
        source="files",
        external_id="edge.md",
    )
    [result] = remember(workspace, page)
    erased(workspace, leaf_of(result))
    other = replace(page, text="Nothing to see.", occurred_at=draft("x", minutes=60).occurred_at)
    remember(workspace, other)
    later = replace(page, occurred_at=draft("x", minutes=90).occurred_at)
    remember(workspace, later)
    assert_no_trace(word)
    assert_clean(workspace)


def test_a_new_statement_after_the_erasure_is_a_new_memory(workspace: Workspace) -> None:
    word = english_canary()
    [result] = remember(workspace, draft(english(word)))
    erased(workspace, leaf_of(result))
    [again] = remember(workspace, draft(english(word), minutes=600))
    assert again.chunks[0].outcome == "created"
    assert statuses(workspace, leaf_of(result), leaf_of(again)) == ["erased", "active"]
    assert payload_of(workspace, again.event_id) == english(word)
    assert_clean(workspace)


def test_two_requests_at_once_make_one_erasure(tenant: Tenant) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection

    workspace = workspace_of(tenant)
    leaf_id = sealed_memory(workspace, english(english_canary()))

    def ask(_: int) -> UUID:
        try:
            return erase(workspace, leaf_id).erasure_id
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(ask, range(4)))) == 1
    drain(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.erasures.count() == 1
        assert workspace.audit_entries.filter(action="leaf.erased").count() == 1
    assert_clean(workspace)
