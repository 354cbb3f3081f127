"""Forgetting a leaf: from that moment nothing that reads memory says its words."""

import threading
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.errors import Conflict
from tests.faults.gates import claim, once_at
from tests.verification import assert_clean
from tests.workspaces.corrections import (
    CHINESE_FACTS,
    correct,
    everything_read,
    forget,
    leaf_row,
    move,
    remember_all,
    restore,
    undo,
)
from tests.workspaces.memory import (
    ATLAS_FACTS,
    MORNING,
    draft,
    drain,
    principal_of,
    remember,
    results_of,
)
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.models.trees import SummaryNode
from workspaces.services import indexing
from workspaces.services.intake import receive_events
from workspaces.services.jobs import add_job
from workspaces.services.results import EventResult
from workspaces.services.tenants import create_workspace
from workspaces.services.worker import run_job

PATIENCE_SECONDS = 1.5  # a forgetting that does not wait would be over long before

LANGUAGES = [
    (ATLAS_FACTS[:9], 1, "access.log", "Where is the access log of the Atlas gateway?"),
    ((*CHINESE_FACTS, "支付网关由平台组负责。"), 1, "青龙机房", "支付网关的访问日志在哪里？"),
]


def summaries(workspace: Workspace) -> list[SummaryNode]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.summaries.order_by("height", "id"))


@pytest.mark.parametrize(
    ("facts", "place", "words", "question"),
    [pytest.param(*LANGUAGES[0], marks=pytest.mark.slow), LANGUAGES[1]],
)
def test_nothing_says_it_before_and_after_the_replacement(
    workspace: Workspace, facts: tuple[str, ...], place: int, words: str, question: str
) -> None:
    ids = remember_all(workspace, *facts)
    assert words in everything_read(workspace, question=question)
    forget(workspace, ids[place])
    assert words not in everything_read(workspace, question=question)
    assert {node.status for node in summaries(workspace)} == {"quarantined"}
    assert_clean(workspace)

    drain(workspace)
    assert words not in everything_read(workspace, question=question)
    old, new = sorted(summaries(workspace), key=lambda node: node.created_at)
    assert (old.status, old.withheld) == ("retired", True)
    assert (new.status, new.withheld, ids[place] in new.child_ids) == ("sealed", False, False)
    assert_clean(workspace)


@pytest.mark.slow
def test_a_high_tree_is_withheld_up_to_the_root(tenant: Tenant) -> None:
    workspace = create_workspace(tenant, slug="high", name="High", settings={"seal_threshold": 2})
    ids = remember_all(workspace, *ATLAS_FACTS[:9])
    forget(workspace, ids[1])
    with workspace_scope(workspace):
        withheld = set(workspace.summaries.filter(withheld=True).values_list("height", flat=True))
        root = workspace.summaries.get(is_root=True)
    assert (root.status, root.withheld) == ("quarantined", True)
    assert withheld == set(range(1, root.height + 1))
    question = "Where is the access log of the Atlas gateway?"
    assert "access.log" not in everything_read(workspace, question=question)
    drain(workspace)
    assert "access.log" not in everything_read(workspace, question=question)
    assert_clean(workspace)


def test_a_summary_that_was_replaced_before_is_withheld_too(workspace: Workspace) -> None:
    """It covered the leaf once, and its row still has the words."""
    ids = remember_all(workspace, *ATLAS_FACTS[:8])
    correct(workspace, ids[0], "The Atlas gateway listens on port 9443.")
    drain(workspace)
    forget(workspace, ids[1])
    drain(workspace)
    assert [node.withheld for node in summaries(workspace)] == [True, True, False]
    assert_clean(workspace)


@pytest.mark.slow
def test_an_old_version_is_forgotten_while_its_summary_waits(workspace: Workspace) -> None:
    """A stale summary speaks of the version before the correction."""
    ids = remember_all(workspace, *ATLAS_FACTS[:8])
    correct(workspace, ids[1], "The Atlas gateway writes no access log.")
    forget(workspace, ids[1])
    question = "Where is the access log of the Atlas gateway?"
    assert "access/" not in everything_read(workspace, question=question)
    assert "access.log" not in everything_read(workspace, question=question)
    assert_clean(workspace)
    drain(workspace)
    restore(workspace, ids[1])
    drain(workspace)
    assert leaf_row(workspace, ids[1]).status == "superseded"
    assert_clean(workspace)


def test_the_same_words_in_history_are_forgotten_too(workspace: Workspace) -> None:
    """A, then B, then A again: the first A says what the third leaf says."""
    [first] = remember_all(workspace, ATLAS_FACTS[1])
    second = correct(workspace, first, "The Atlas gateway writes no access log.")
    third = correct(workspace, second.leaf_id, ATLAS_FACTS[1])
    forget(workspace, third.leaf_id)
    question = "Where is the access log of the Atlas gateway?"
    assert "access.log" not in everything_read(workspace, question=question)
    drain(workspace)
    assert_clean(workspace)
    restore(workspace, third.leaf_id)
    assert [leaf_row(workspace, leaf_id).status for leaf_id in (first, third.leaf_id)] == [
        "superseded",
        "active",
    ]
    drain(workspace)
    assert_clean(workspace)


@pytest.mark.slow
def test_where_it_was_moved_from_is_forgotten_too(workspace: Workspace) -> None:
    ids = remember_all(workspace, *ATLAS_FACTS[:8], "Mara Lindqvist is on call this week.")
    with workspace_scope(workspace):
        slug = workspace.entities.get(name__contains="Mara").slug
    moved = move(workspace, ids[1], to=slug)
    forget(workspace, moved.leaf_id)
    question = "Where is the access log of the Atlas gateway?"
    assert "access.log" not in everything_read(workspace, question=question)
    drain(workspace)
    assert "access.log" not in everything_read(workspace, question=question)
    assert_clean(workspace)
    restore(workspace, moved.leaf_id)
    drain(workspace)
    assert "access.log" in everything_read(workspace, question=question)
    assert_clean(workspace)


def test_counters_and_the_last_leaf_of_a_tree(workspace: Workspace) -> None:
    one, two = remember_all(workspace, *ATLAS_FACTS[:2])
    tree_id = leaf_row(workspace, one).tree_id
    forget(workspace, one)
    with workspace_scope(workspace):
        tree = workspace.trees.get(id=tree_id)
    assert (tree.leaf_count, tree.status) == (1, "active")
    forget(workspace, two)
    with workspace_scope(workspace):
        tree = workspace.trees.get(id=tree_id)
    assert (tree.leaf_count, tree.status) == (0, "empty")
    drain(workspace)
    assert_clean(workspace)
    restore(workspace, two)
    with workspace_scope(workspace):
        tree = workspace.trees.get(id=tree_id)
    assert (tree.leaf_count, tree.status) == (1, "active")
    drain(workspace)
    assert_clean(workspace)


def test_a_tree_whose_every_leaf_is_forgotten_has_no_summary(workspace: Workspace) -> None:
    ids = remember_all(workspace, *ATLAS_FACTS[:8])
    for leaf_id in ids:
        forget(workspace, leaf_id)
    drain(workspace)
    assert {node.status for node in summaries(workspace)} == {"retired"}
    assert_clean(workspace)


@pytest.mark.parametrize("facts", [ATLAS_FACTS[:8], CHINESE_FACTS])
def test_a_re_import_does_not_bring_it_back(workspace: Workspace, facts: tuple[str, ...]) -> None:
    ids = remember_all(workspace, *facts)
    forget(workspace, ids[1])
    [again] = remember(
        workspace, draft(facts[1], minutes=1, source="import", external_id="once-more")
    )
    assert (again.chunks[0].outcome, again.chunks[0].leaf_id) == ("noop_duplicate", ids[1])
    assert leaf_row(workspace, ids[1]).status == "inactive"
    assert_clean(workspace)


def test_the_same_source_item_sent_again_does_not_bring_it_back(workspace: Workspace) -> None:
    item = draft(ATLAS_FACTS[0], source="chat", external_id="m-1", occurred_at=None)
    [first] = remember(workspace, item)
    leaf_id = first.chunks[0].leaf_id
    assert leaf_id is not None
    forget(workspace, leaf_id)
    [again] = remember(workspace, item)
    assert again.event_id == first.event_id
    with workspace_scope(workspace):
        assert not workspace.leaves.filter(status="active").exists()
    assert_clean(workspace)


def test_what_is_said_anew_later_is_a_new_memory(workspace: Workspace) -> None:
    [leaf_id] = remember_all(workspace, ATLAS_FACTS[0])
    forget(workspace, leaf_id)
    [again] = remember(workspace, draft(ATLAS_FACTS[0], minutes=500))
    assert again.chunks[0].outcome == "created"
    with pytest.raises(Conflict) as refused:
        restore(workspace, leaf_id)
    assert refused.value.detail["code"] == "same_text"
    assert_clean(workspace)


@pytest.mark.slow
def test_a_restored_leaf_is_found_again(workspace: Workspace) -> None:
    for facts, place, words, question in LANGUAGES:
        ids = remember_all(workspace, *facts)
        forget(workspace, ids[place])
        drain(workspace)
        restore(workspace, ids[place])
        row = leaf_row(workspace, ids[place])
        assert (row.status, row.forgotten_at, row.parent_id) == ("active", None, None)
        drain(workspace)
        assert words in everything_read(workspace, question=question)
    with workspace_scope(workspace):
        vectors = set(workspace.vector_entries.values_list("node_id", flat=True))
    assert ids[1] in vectors
    assert_clean(workspace)


def test_restoring_before_the_replacement_is_sealed(workspace: Workspace) -> None:
    ids = remember_all(workspace, *ATLAS_FACTS[:8])
    undo(workspace, forget(workspace, ids[1]).audit_id)
    drain(workspace)
    assert leaf_row(workspace, ids[1]).parent_id is None
    assert_clean(workspace)


def test_refusals(workspace: Workspace) -> None:
    one, two, three = remember_all(workspace, *ATLAS_FACTS[:2], "Mara Lindqvist is on call.")
    with pytest.raises(Conflict):
        restore(workspace, one)
    forget(workspace, one)
    with pytest.raises(Conflict):
        forget(workspace, one)
    with pytest.raises(Conflict) as refused:
        correct(workspace, one, "The Atlas gateway listens on port 1.")
    assert refused.value.detail["code"] == "leaf_forgotten"
    moved = move(workspace, three, to="atlas-gateway")
    for change in (forget, restore):
        with pytest.raises(Conflict, match=str(moved.leaf_id)):
            change(workspace, three)
    assert leaf_row(workspace, two).status == "active"
    assert_clean(workspace)


def record(text: str, **values: object) -> object:
    values = {
        "kind": "integration_record",
        "source": "github",
        "provider": "github",
        "account": "repo-atlas",
        "external_id": "issue-1",
        **values,
    }
    return draft(text, **values)


def test_a_leaf_of_a_source_is_forgotten_and_restored_but_not_changed(
    workspace: Workspace,
) -> None:
    [result] = remember(workspace, record("Issue 1: the Atlas gateway leaks memory."))
    leaf_id = result.chunks[0].leaf_id
    assert leaf_id is not None
    for change in (
        lambda: correct(workspace, leaf_id, "Issue 1: nothing leaks."),
        lambda: move(workspace, leaf_id, to="atlas-gateway"),
    ):
        with pytest.raises(Conflict) as refused:
            change()
        assert refused.value.detail["code"] == "owned_by_source"
    forget(workspace, leaf_id)
    restore(workspace, leaf_id)
    forget(workspace, leaf_id)
    remember(workspace, record("Issue 1: fixed.", minutes=30))
    with pytest.raises(Conflict) as refused:
        restore(workspace, leaf_id)
    assert refused.value.detail["code"] == "leaf_superseded"
    drain(workspace)
    assert_clean(workspace)


def test_a_seal_that_is_under_way_does_not_take_it_up(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The summary was drafted with the leaf; the commit sees that it went, and plans again."""
    ids = remember_all(workspace, *ATLAS_FACTS[:7])
    once_at(monkeypatch, "seal.before_swap", lambda: _elsewhere(workspace, ids[1]))
    remember(workspace, draft(ATLAS_FACTS[7], minutes=8))
    monkeypatch.undo()
    drain(workspace)
    assert leaf_row(workspace, ids[1]).forgotten_at is not None
    assert all(ids[1] not in node.child_ids for node in summaries(workspace))
    assert_clean(workspace)


def test_a_vector_that_is_being_made_does_not_bring_it_back(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forgetting waits for the vector's transaction, and then removes the vector."""
    received = receive_events(
        workspace, drafts=[draft(ATLAS_FACTS[0])], principal=principal_of(workspace)
    )
    [result] = results_after(workspace, received.event_ids, topic=Job.Topic.EVENT_RECEIVED)
    leaf_id = result.chunks[0].leaf_id
    assert leaf_id is not None
    with workspace_scope(workspace):  # as when the model was out while it was written
        workspace.vector_entries.filter(node_id=leaf_id).delete()
        add_job(workspace, topic=Job.Topic.NODE_CREATED, target_id=leaf_id, scope_id=workspace.id)
    started: list[threading.Thread] = []
    original = indexing.vector_statement

    def statement(*args: Any, **values: Any) -> Any:
        started.append(_in_thread(workspace, leaf_id))
        started[0].join(PATIENCE_SECONDS)
        return original(*args, **values)

    monkeypatch.setattr(indexing, "vector_statement", statement)
    drain(workspace)
    started[0].join(60)
    monkeypatch.undo()
    assert leaf_row(workspace, leaf_id).forgotten_at is not None
    with system_scope():
        assert not workspace.vector_entries.filter(node_id=leaf_id).exists()
    drain(workspace)
    assert_clean(workspace)


def test_a_private_leaf_is_forgotten_in_its_own_memory_only(workspace: Workspace) -> None:
    shared, private = remember(
        workspace,
        draft(ATLAS_FACTS[0]),
        draft(ATLAS_FACTS[0], user_id="customer-7", occurred_at=MORNING),
    )
    assert private.chunks[0].leaf_id is not None
    assert shared.chunks[0].leaf_id is not None
    forget(workspace, private.chunks[0].leaf_id)
    assert leaf_row(workspace, shared.chunks[0].leaf_id).status == "active"
    assert_clean(workspace)


def results_after(
    workspace: Workspace, event_ids: list[UUID], *, topic: Job.Topic
) -> list[EventResult]:
    """With the events' own jobs done, and what follows them still waiting."""
    for event_id in event_ids:
        run_job(claim(workspace, topic=topic, target_id=event_id))
    return results_of(workspace, event_ids)


def _elsewhere(workspace: Workspace, leaf_id: UUID) -> None:
    _in_thread(workspace, leaf_id).join(60)


def _in_thread(workspace: Workspace, leaf_id: UUID) -> threading.Thread:
    """Forget it through a connection of its own."""

    def act() -> None:
        try:
            forget(workspace, leaf_id)
        finally:
            connection.close()

    thread = threading.Thread(target=act)
    thread.start()
    return thread
