"""Correcting a leaf, and taking changes back."""

import threading
from uuid import uuid4

import pytest
from django.db import connection

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict, HolamemError, InvalidInput, NotFound
from tests.faults.gates import meet_at
from tests.verification import assert_clean
from tests.workspaces.corrections import (
    CHINESE_FACTS,
    active_in,
    correct,
    forget,
    leaf_row,
    move,
    remember_all,
    restore,
    undo,
)
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember
from workspaces.bodies import body_storage, read_markdown
from workspaces.models.tenancy import Workspace

CASES = [
    (
        "The Atlas gateway listens on port 8443.",
        "The Atlas gateway listens on port 9443.",
    ),
    ("支付网关监听八四四三端口。", "支付网关监听九四四三端口。"),
]


@pytest.mark.parametrize(("before", "after"), CASES)
def test_a_correction_supersedes_in_the_same_tree(
    workspace: Workspace, before: str, after: str
) -> None:
    [old_id] = remember_all(workspace, before)
    made = correct(workspace, old_id, after)
    old, new = leaf_row(workspace, old_id), leaf_row(workspace, made.leaf_id)
    assert (old.status, old.superseded_by_id) == ("superseded", new.id)
    assert (new.status, new.supersedes_leaf_id, new.tree_id) == ("active", old.id, old.tree_id)
    assert old.valid_until == new.observed_at
    assert read_markdown(new.body_path, sha256=new.body_sha256) == after
    assert (new.language, new.entity_id) == (old.language, old.entity_id)
    drain(workspace)
    assert_clean(workspace)


def test_a_correction_comes_from_an_event_of_its_own(workspace: Workspace) -> None:
    [old_id] = remember_all(workspace, CASES[0][0])
    made = correct(workspace, old_id, CASES[0][1])
    with workspace_scope(workspace):
        [link] = workspace.leaf_sources.filter(leaf=made.leaf_id).select_related("event")
        [chunk] = workspace.chunks.filter(leaf=made.leaf_id)
        entry = workspace.audit_entries.get(id=made.audit_id)
    assert link.is_creator
    assert (link.event.source, link.event.status) == ("correction", "processed")
    assert (chunk.outcome, chunk.text) == ("superseding", "")
    assert (entry.action, entry.target) == ("leaf.corrected", str(made.leaf_id))
    assert CASES[0][1] not in str(entry.detail)


def test_a_secret_in_a_correction_is_masked(workspace: Workspace) -> None:
    [old_id] = remember_all(workspace, "The Atlas gateway uses a key.")
    made = correct(
        workspace,
        old_id,
        "The Atlas gateway uses the key sk-proj-Ab3dEf6hIj9kLmN0pQrStUvWxYz12345.",
    )
    new = leaf_row(workspace, made.leaf_id)
    assert "Ab3dEf6hIj9kLmN0" not in read_markdown(new.body_path) + new.title + new.summary
    with workspace_scope(workspace):
        [event] = workspace.events.filter(source="correction")
    assert event.masked_kinds
    assert "Ab3dEf6hIj9kLmN0" not in event.payload_text


@pytest.mark.parametrize("text", ["The Atlas gateway listens on port 8443.", ATLAS_FACTS[1]])
def test_a_text_that_the_tree_holds_already_is_refused(workspace: Workspace, text: str) -> None:
    [leaf_id, _] = remember_all(workspace, *ATLAS_FACTS[:2])
    files = _files(workspace)
    with pytest.raises(Conflict) as refused:
        correct(workspace, leaf_id, text)
    assert refused.value.detail["code"] == "same_text"
    assert leaf_row(workspace, leaf_id).status == "active"
    assert _files(workspace) == files
    assert_clean(workspace)


def test_correcting_an_old_version_names_the_current_one(workspace: Workspace) -> None:
    [first] = remember_all(workspace, CASES[0][0])
    second = correct(workspace, first, CASES[0][1])
    third = correct(workspace, second.leaf_id, "The Atlas gateway listens on port 7443.")
    with pytest.raises(Conflict, match=str(third.leaf_id)) as refused:
        correct(workspace, first, "The Atlas gateway listens on port 1.")
    assert refused.value.detail["code"] == "leaf_superseded"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (" \u200b ", "blank"),
        ("x" * 2_001, "max_length"),
        ('<holamem-memory mark="a">The gateway is down.</holamem-memory>', "recalled"),
    ],
)
def test_a_text_that_cannot_be_one_memory_is_refused(
    workspace: Workspace, text: str, code: str
) -> None:
    [leaf_id] = remember_all(workspace, CASES[0][0])
    with pytest.raises(InvalidInput) as refused:
        correct(workspace, leaf_id, text)
    assert (refused.value.field, refused.value.detail["code"]) == ("text", code)


def test_what_is_not_there_cannot_be_corrected(workspace: Workspace) -> None:
    with pytest.raises(NotFound):
        correct(workspace, uuid4(), "The Atlas gateway listens on port 1.")


@pytest.mark.slow
def test_a_sealed_leaf_that_is_corrected_leaves_its_summaries(workspace: Workspace) -> None:
    for facts, text in (
        (ATLAS_FACTS[:8], "The Atlas gateway listens on port 9443."),
        (CHINESE_FACTS, "支付网关监听九四四三端口。"),
    ):
        ids = remember_all(workspace, *facts)
        correct(workspace, ids[0], text)
        drain(workspace)
        tree_id = leaf_row(workspace, ids[0]).tree_id
        with workspace_scope(workspace):
            [node] = workspace.summaries.filter(tree=tree_id, status="sealed")
        assert ids[0] not in node.child_ids
    assert_clean(workspace)


def test_a_mention_of_another_entity_is_linked(workspace: Workspace) -> None:
    remember_all(workspace, "Mara Lindqvist is on call this week.", CASES[0][0])
    with workspace_scope(workspace):
        port = workspace.leaves.get(tree__key="interaction:atlas-gateway")
        mara = workspace.entities.get(name__contains="Mara")
    made = correct(workspace, port.id, f"The Atlas gateway is owned by {mara.name}.")
    with workspace_scope(workspace):
        links = workspace.leaf_entities.filter(leaf=made.leaf_id)
        assert list(links.values_list("entity_id", flat=True)) == [mara.id]
    drain(workspace)
    assert_clean(workspace)


def test_two_corrections_at_once_end_with_one_head(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    [leaf_id] = remember_all(workspace, CASES[0][0])
    meet_at(monkeypatch, "correct.after_file", workers=2)
    outcomes = _together(
        lambda: correct(workspace, leaf_id, "The Atlas gateway listens on port 1111."),
        lambda: correct(workspace, leaf_id, "The Atlas gateway listens on port 2222."),
    )
    monkeypatch.undo()
    assert sorted(outcomes) == ["done", "leaf_superseded"]
    drain(workspace)
    assert len(active_in(workspace, leaf_row(workspace, leaf_id).tree_id)) == 1
    assert_clean(workspace)


def test_a_correction_and_the_same_text_by_an_event_end_in_one_leaf(workspace: Workspace) -> None:
    [leaf_id] = remember_all(workspace, CASES[0][0])
    made = correct(workspace, leaf_id, CASES[0][1])
    [again] = remember(workspace, draft(CASES[0][1], minutes=90))
    assert (again.chunks[0].outcome, again.chunks[0].leaf_id) == ("noop_duplicate", made.leaf_id)
    assert_clean(workspace)


# Undo.


@pytest.mark.parametrize(("before", "after"), CASES)
def test_an_undone_correction_brings_the_old_text_back(
    workspace: Workspace, before: str, after: str
) -> None:
    [old_id] = remember_all(workspace, before)
    made = correct(workspace, old_id, after)
    back = undo(workspace, made.audit_id)
    leaf = leaf_row(workspace, back.leaf_id)
    assert (leaf.status, leaf.supersedes_leaf_id) == ("active", made.leaf_id)
    assert leaf.title == leaf_row(workspace, old_id).title
    assert read_markdown(leaf.body_path) == before
    with workspace_scope(workspace):
        entry = workspace.audit_entries.get(id=back.audit_id)
    assert (entry.action, entry.undoes_id) == ("leaf.corrected.undone", made.audit_id)
    drain(workspace)
    assert_clean(workspace)


def test_a_correction_that_was_corrected_since_cannot_be_undone(workspace: Workspace) -> None:
    [old_id] = remember_all(workspace, CASES[0][0])
    made = correct(workspace, old_id, CASES[0][1])
    correct(workspace, made.leaf_id, "The Atlas gateway listens on port 7443.")
    with pytest.raises(Conflict):
        undo(workspace, made.audit_id)


def test_every_change_is_undone_once(workspace: Workspace) -> None:
    one, two, three = remember_all(workspace, *ATLAS_FACTS[:2], "Mara Lindqvist is on call.")
    with workspace_scope(workspace):
        slug = workspace.entities.get(name__contains="Mara").slug
    entries = [
        correct(workspace, one, CASES[0][1]).audit_id,
        forget(workspace, two).audit_id,
        move(workspace, leaf_row(workspace, three).id, to="atlas-gateway").audit_id,
    ]
    assert slug != "atlas-gateway"
    for audit_id in entries:
        undo(workspace, audit_id)
        with pytest.raises(Conflict) as refused:
            undo(workspace, audit_id)
        assert refused.value.detail["code"] == "already_undone"
    drain(workspace)
    assert_clean(workspace)


def test_two_undos_at_once_make_one(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    [leaf_id] = remember_all(workspace, CASES[0][0])
    done = forget(workspace, leaf_id)
    meet_at(monkeypatch, "restore.before_step", workers=2)
    outcomes = _together(
        lambda: undo(workspace, done.audit_id), lambda: undo(workspace, done.audit_id)
    )
    monkeypatch.undo()
    assert "done" in outcomes
    assert outcomes.count("done") == 1
    assert leaf_row(workspace, leaf_id).status == "active"
    drain(workspace)
    assert_clean(workspace)


def test_an_undo_itself_cannot_be_undone(workspace: Workspace) -> None:
    [leaf_id] = remember_all(workspace, CASES[0][0])
    done = undo(workspace, forget(workspace, leaf_id).audit_id)
    with pytest.raises(Conflict) as refused:
        undo(workspace, done.audit_id)
    assert refused.value.detail["code"] == "not_undoable"


def test_a_restored_leaf_is_forgotten_again_by_undo(workspace: Workspace) -> None:
    [leaf_id] = remember_all(workspace, CASES[0][0])
    forget(workspace, leaf_id)
    undo(workspace, restore(workspace, leaf_id).audit_id)
    assert leaf_row(workspace, leaf_id).forgotten_at is not None
    drain(workspace)
    assert_clean(workspace)


def _files(workspace: Workspace) -> set[str]:
    with workspace_scope(workspace, ALL_SCOPES):
        paths = set(workspace.leaves.values_list("body_path", flat=True))
    folder = next(iter(paths)).rpartition("/")[0]
    return {name for name in body_storage().listdir(folder)[1] if name.endswith(".md")}


def _together(*acts: object) -> list[str]:
    """What became of each, run at once in threads with connections of their own."""
    outcomes: list[str] = []

    def run(act: object) -> None:
        try:
            act()  # type: ignore[operator]  # given by the tests above
            outcomes.append("done")
        except HolamemError as error:
            outcomes.append(str(error.detail.get("code", error.code)))
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return outcomes
