"""Legal erasure: what goes, what stays, and what the receipt says of it."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import NotFound
from tests.verification import assert_clean
from tests.workspaces.erasing import (
    chinese,
    english,
    erase,
    erased,
    leaf_of,
    leaf_row,
    payload_of,
    sealed_memory,
    statuses,
    workspace_of,
)
from tests.workspaces.memory import draft, drain, principal_of, remember, unfinished_jobs
from tests.workspaces.traces import (
    assert_no_trace,
    chinese_canary,
    english_canary,
    files_holding,
    tables_holding,
)
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.corrections.correct import correct_leaf
from workspaces.services.corrections.forget import forget_leaf
from workspaces.services.corrections.move import move_leaf
from workspaces.services.erasure.receipts import receipt, receipts_of_leaf
from workspaces.services.erasure.redaction import COVER, cover_text
from workspaces.services.erasure.request import preview_erasure
from workspaces.services.placement import NewEntityPlan
from workspaces.verify.run import verify_workspace

Say = Callable[[str], str]
Canary = Callable[[], str]
LANGUAGES: list[tuple[Say, Canary]] = [(english, english_canary), (chinese, chinese_canary)]


@pytest.mark.parametrize(
    ("say", "canary"),
    [
        pytest.param(*LANGUAGES[0], id="en", marks=pytest.mark.slow),
        pytest.param(*LANGUAGES[1], id="zh"),
    ],
)
def test_no_table_holds_the_word_once_the_call_returns_and_no_file_once_it_is_complete(
    tenant: Tenant, say: Say, canary: Canary
) -> None:
    workspace, word = workspace_of(tenant), canary()
    leaf_id = sealed_memory(workspace, say(word), actor=word, metadata={"from": [word]})
    assert {"workspaces_event", "workspaces_sourceleaf"} <= set(tables_holding(word))
    assert len(files_holding(word)) >= 4
    erase(workspace, leaf_id)
    assert tables_holding(word) == []
    drain(workspace)
    assert_no_trace(word)
    assert unfinished_jobs(workspace) == []
    assert verify_workspace(workspace) == []


def test_the_receipt_counts_what_went(tenant: Tenant) -> None:
    workspace = workspace_of(tenant)
    leaf_id = sealed_memory(workspace, english(english_canary()))
    asked = erase(workspace, leaf_id)
    assert (asked.status, asked.leaves, asked.events, asked.chunks) == ("requested", 1, 1, 1)
    assert asked.summaries >= 3
    assert asked.bodies == asked.summaries + 1
    assert asked.entries >= 2
    drain(workspace)
    done = receipt(workspace, scopes=ALL_SCOPES, erasure_id=asked.erasure_id)
    assert done.status == "complete"
    assert done.completed_at is not None
    assert (done.leaves, done.summaries, done.bodies) == (1, asked.summaries, asked.bodies)
    assert done.reason == "asked for by the person"


def test_the_tombstone_has_ids_and_hashes_only(tenant: Tenant) -> None:
    workspace, word = workspace_of(tenant), english_canary()
    leaf_id = sealed_memory(workspace, english(word))
    before = leaf_row(workspace, leaf_id)
    done = erased(workspace, leaf_id)
    with workspace_scope(workspace, ALL_SCOPES):
        [tombstone] = workspace.erasures.get(id=done.erasure_id).tombstones["leaves"]
    assert tombstone == {
        "leaf_id": str(leaf_id),
        "tree_id": str(before.tree_id),
        "fingerprint": before.fingerprint,
        "body_sha256": before.body_sha256,
    }
    after = leaf_row(workspace, leaf_id)
    assert (after.status, after.fingerprint) == ("erased", before.fingerprint)
    assert (after.title, after.summary, after.labels, after.actor) == ("", "", [], "")


@pytest.mark.slow
def test_the_rest_of_the_tree_is_sealed_again_without_it(tenant: Tenant) -> None:
    workspace = workspace_of(tenant)
    leaf_id = sealed_memory(workspace, english(english_canary()))
    tree_id = leaf_row(workspace, leaf_id).tree_id
    erased(workspace, leaf_id)
    with workspace_scope(workspace, ALL_SCOPES):
        tree = workspace.trees.get(id=tree_id)
        live = workspace.summaries.filter(tree=tree).exclude(status="retired")
        assert tree.leaf_count == 7
        assert set(live.values_list("status", flat=True)) == {"sealed"}
        assert tree.root_id is not None
        assert live.get(id=tree.root_id).leaf_count >= 6


@pytest.mark.slow
def test_asking_twice_gives_the_same_receipt(tenant: Tenant) -> None:
    workspace = workspace_of(tenant)
    leaf_id = sealed_memory(workspace, english(english_canary()))
    first = erase(workspace, leaf_id)
    assert erase(workspace, leaf_id) == first
    drain(workspace)
    again = erase(workspace, leaf_id)
    assert again.erasure_id == first.erasure_id
    assert again.status == "complete"
    assert unfinished_jobs(workspace) == []


@pytest.mark.slow
def test_the_whole_history_goes_in_both_directions(workspace: Workspace) -> None:
    words = [english_canary() for _ in range(3)]
    versions = [
        remember(workspace, draft(f"The owner of the Atlas gateway is {word}.", minutes=n * 60))
        for n, word in enumerate(words)
    ]
    ids = [leaf_of(version[0]) for version in versions]
    assert statuses(workspace, *ids) == ["superseded", "superseded", "active"]
    done = erased(workspace, ids[1])
    assert done.leaves == 3
    assert statuses(workspace, *ids) == ["erased"] * 3
    assert_no_trace(*words)
    assert [
        found.erasure_id for found in receipts_of_leaf(workspace, scopes=ALL_SCOPES, leaf_id=ids[0])
    ] == [done.erasure_id]
    assert_clean(workspace)


@pytest.mark.slow
def test_one_version_alone_goes_when_asked_for(workspace: Workspace) -> None:
    gone, kept = english_canary(), english_canary()
    results = [
        remember(workspace, draft(f"The owner of the Atlas gateway is {word}.", minutes=n * 60))
        for n, word in enumerate((gone, kept))
    ]
    ids = [leaf_of(result[0]) for result in results]
    narrow = erased(workspace, ids[0], only_this=True)
    assert statuses(workspace, *ids) == ["erased", "active"]
    assert_no_trace(gone)
    assert_clean(workspace)
    wide = erased(workspace, ids[0])
    assert wide.erasure_id != narrow.erasure_id
    assert statuses(workspace, *ids) == ["erased", "erased"]
    assert_no_trace(kept)
    assert erase(workspace, ids[0]).erasure_id == wide.erasure_id
    assert_clean(workspace)


@pytest.mark.slow
def test_a_corrected_text_goes_with_what_corrected_it(workspace: Workspace) -> None:
    wrong, right = english_canary(), english_canary()
    [result] = remember(workspace, draft(english(wrong)))
    corrected = correct_leaf(
        workspace,
        principal=principal_of(workspace),
        scopes=ALL_SCOPES,
        leaf_id=leaf_of(result),
        text=english(right),
    )
    drain(workspace)
    erased(workspace, corrected.leaf_id)
    assert_no_trace(wrong, right)
    assert_clean(workspace)


@pytest.mark.slow
def test_a_moved_leaf_goes_from_both_trees(workspace: Workspace) -> None:
    word = english_canary()
    [result, _] = remember(
        workspace,
        draft(english(word)),
        draft("The Borealis scheduler runs every hour.", minutes=3),
    )
    moved = move_leaf(
        workspace,
        principal=principal_of(workspace),
        scopes=ALL_SCOPES,
        leaf_id=leaf_of(result),
        new_entity=NewEntityPlan(type="topic", name="Night shift"),
    )
    drain(workspace)
    done = erased(workspace, moved.leaf_id)
    assert done.leaves == 2
    assert statuses(workspace, leaf_of(result), moved.leaf_id) == ["erased", "erased"]
    assert_no_trace(word)
    assert_clean(workspace)


@pytest.mark.slow
def test_a_forgotten_leaf_can_be_erased(workspace: Workspace) -> None:
    word = english_canary()
    [result] = remember(workspace, draft(english(word)))
    forget_leaf(
        workspace, principal=principal_of(workspace), scopes=ALL_SCOPES, leaf_id=leaf_of(result)
    )
    erased(workspace, leaf_of(result))
    assert_no_trace(word)
    assert_clean(workspace)


@pytest.mark.slow
def test_the_same_text_that_was_forgotten_before_goes_too(workspace: Workspace) -> None:
    """Otherwise somebody could restore it."""
    word = english_canary()
    [first] = remember(workspace, draft(english(word)))
    forget_leaf(
        workspace, principal=principal_of(workspace), scopes=ALL_SCOPES, leaf_id=leaf_of(first)
    )
    drain(workspace)
    [second] = remember(workspace, draft(english(word), minutes=90))
    assert leaf_of(second) != leaf_of(first)
    erased(workspace, leaf_of(second))
    assert_no_trace(word)
    assert_clean(workspace)


def test_every_event_that_said_it_loses_its_text(workspace: Workspace) -> None:
    word = english_canary()
    said = [draft(english(word), minutes=n) for n in range(3)]
    results = remember(workspace, *said)
    assert [result.chunks[0].outcome for result in results].count("noop_duplicate") == 2
    done = erased(workspace, leaf_of(results[0]))
    assert (done.events, done.chunks) == (3, 3)
    assert_no_trace(word)
    assert_clean(workspace)


@pytest.mark.slow
def test_a_rejected_message_with_the_same_text_goes_too(workspace: Workspace) -> None:
    word = english_canary()
    text = f"I have deployed the Atlas gateway for {word}."
    rejected = remember(workspace, draft(text, minutes=1, kind="assistant_turn", admission="auto"))
    assert rejected[0].chunks[0].outcome == "rejected"
    [result] = remember(workspace, draft(text, minutes=2))
    erased(workspace, leaf_of(result))
    assert_no_trace(word)
    assert_clean(workspace)


def long_message(first: str, second: str) -> str:
    filler = "The Atlas gateway is described here once more in some detail. " * 14
    return f"# One\n\n{first}\n\n{filler}\n\n# Two\n\n{second}\n\n{filler.replace('once', 'twice')}"


@pytest.mark.slow
def test_an_event_that_fed_other_memory_loses_only_that_stretch(workspace: Workspace) -> None:
    gone, kept = english_canary(), english_canary()
    text = long_message(english(gone), f"The Borealis scheduler belongs to {kept}.")
    [result] = remember(workspace, draft(text))
    [first, *others] = result.chunks
    assert others
    assert first.leaf_id
    erased(workspace, first.leaf_id)
    assert_no_trace(gone)
    left = payload_of(workspace, result.event_id)
    assert len(left) == len(text)
    assert kept in left
    assert COVER in left
    assert_clean(workspace)
    for chunk in others:
        assert chunk.leaf_id
        erased(workspace, chunk.leaf_id)
    assert payload_of(workspace, result.event_id) == ""
    assert_no_trace(kept)
    assert_clean(workspace)


def test_covering_keeps_the_length_of_a_text() -> None:
    assert cover_text("ab你好ef", spans=[(1, 3)]) == f"a{COVER}{COVER}好ef"
    assert cover_text("ab", spans=[(1, 9), (5, 7)]) == f"a{COVER}"
    assert cover_text("", spans=[(0, 4)]) == ""


def test_a_subject_that_nothing_speaks_of_any_more_loses_its_name(workspace: Workspace) -> None:
    word = english_canary()
    [result] = remember(workspace, draft(f"{word} owns the payroll system.", minutes=1))
    leaf = leaf_row(workspace, leaf_of(result))
    assert leaf.entity is not None
    assert word in leaf.entity.name
    done = erased(workspace, leaf.id)
    assert done.entities == 1
    assert_no_trace(word)
    after = leaf_row(workspace, leaf.id)
    assert after.entity is not None
    assert after.entity.name.startswith("erased-")
    assert (after.tree.status, after.tree.leaf_count) == ("empty", 0)
    assert_clean(workspace)
    [again] = remember(workspace, draft(f"{word} owns the payroll system.", minutes=400))
    assert leaf_row(workspace, leaf_of(again)).entity_id != after.entity_id
    assert_clean(workspace)


@pytest.mark.slow
def test_a_subject_that_other_memory_speaks_of_keeps_its_name(workspace: Workspace) -> None:
    word = english_canary()
    results = remember(
        workspace,
        draft(f"{word} owns the payroll system.", minutes=1),
        draft(f"{word} speaks Portuguese and French.", minutes=2),
    )
    first = leaf_row(workspace, leaf_of(results[0]))
    assert first.entity_id == leaf_row(workspace, leaf_of(results[1])).entity_id
    done = erased(workspace, first.id)
    assert done.entities == 0
    assert first.entity is not None
    assert leaf_row(workspace, leaf_of(results[1])).entity == first.entity
    assert leaf_row(workspace, first.id).entity.name == first.entity.name  # type: ignore[union-attr]
    assert_clean(workspace)


def test_the_same_text_of_others_stays(tenant: Tenant) -> None:
    """Of another end user, of the shared memory, and of another workspace."""
    workspace, other = workspace_of(tenant), workspace_of(tenant, "other")
    text = english(english_canary())
    mine, theirs, shared = remember(
        workspace,
        draft(text, user_id="mara"),
        draft(text, user_id="tom"),
        draft(text),
    )
    [elsewhere] = remember(other, draft(text))
    erased(workspace, leaf_of(mine))
    assert statuses(workspace, leaf_of(theirs), leaf_of(shared)) == ["active", "active"]
    assert statuses(other, leaf_of(elsewhere)) == ["active"]
    assert payload_of(workspace, theirs.event_id) == text
    assert_clean(workspace)
    assert_clean(other)


@pytest.mark.slow
def test_a_preview_counts_and_changes_nothing(tenant: Tenant) -> None:
    workspace = workspace_of(tenant)
    leaf_id = sealed_memory(workspace, english(english_canary()))
    leaves, summaries = preview_erasure(
        workspace, scopes=ALL_SCOPES, leaf_id=leaf_id, only_this=False
    )
    assert statuses(workspace, leaf_id) == ["active"]
    asked = erase(workspace, leaf_id)
    assert (asked.leaves, asked.summaries) == (leaves, summaries)
    drain(workspace)


def test_a_leaf_outside_the_callers_scopes_is_not_found(workspace: Workspace) -> None:
    from workspaces.services.erasure.request import erase_leaf

    [result] = remember(workspace, draft(english(english_canary()), user_id="mara"))
    for leaf_id in (leaf_of(result), uuid4()):
        with pytest.raises(NotFound, match="no such leaf"):
            erase_leaf(workspace, principal=principal_of(workspace), scopes=None, leaf_id=leaf_id)
    assert statuses(workspace, leaf_of(result)) == ["active"]
