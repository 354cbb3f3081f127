"""Taking a merge back: exactly what it took along returns, unless it moved on since."""

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict
from tests.verification import assert_clean
from tests.workspaces.entities import (
    ATLAS,
    ATLAS_TEXTS,
    BOREALIS,
    BOREALIS_TEXTS,
    PAYMENT,
    PAYMENT_TEXTS,
    SETTLEMENT,
    SETTLEMENT_TEXTS,
    SPEAKS_OF_BOREALIS,
    entity,
    found_by_words,
    last_merge,
    merge,
    remember_gateways,
    remember_platforms,
    rename,
    speaking_of,
    texts_of,
    tree,
    undo,
)
from tests.workspaces.memory import draft, drain, principal_of, remember, unfinished_jobs
from workspaces.models.merges import EntityMerge
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.corrections.correct import correct_leaf
from workspaces.services.corrections.forget import forget_leaf
from workspaces.services.entities import merge_run, unmerge

MARA = "mara-lindqvist"


def settle(workspace: Workspace) -> None:
    drain(workspace)
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


@pytest.fixture
def gateways(workspace: Workspace) -> Workspace:
    remember_gateways(workspace)
    return workspace


def active_leaf(workspace: Workspace, words: str) -> SourceLeaf:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.leaves.get(status="active", title__contains=words)


def test_leaves_names_and_mentions_return(gateways: Workspace) -> None:
    merged = merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    undo(gateways, merged)
    settle(gateways)
    assert texts_of(gateways, ATLAS) == sorted(ATLAS_TEXTS)
    assert texts_of(gateways, BOREALIS) == sorted(BOREALIS_TEXTS)
    assert speaking_of(gateways, BOREALIS) == [SPEAKS_OF_BOREALIS]
    assert speaking_of(gateways, ATLAS) == []
    revived, target = entity(gateways, BOREALIS), entity(gateways, ATLAS)
    assert (revived.merged_into, target.aliases) == (None, [])
    assert found_by_words(gateways, "borealis gateway") == sorted(
        [*BOREALIS_TEXTS, SPEAKS_OF_BOREALIS]
    )
    assert last_merge(gateways).state == EntityMerge.State.UNDONE
    assert tree(gateways, BOREALIS).leaf_count == len(BOREALIS_TEXTS)


@pytest.mark.slow
def test_a_chinese_merge_is_taken_back_and_made_again(workspace: Workspace) -> None:
    remember_platforms(workspace)
    for _ in range(2):
        merged = merge(workspace, SETTLEMENT, PAYMENT)
        settle(workspace)
        assert texts_of(workspace, PAYMENT) == sorted([*PAYMENT_TEXTS, *SETTLEMENT_TEXTS])
        undo(workspace, merged)
        settle(workspace)
        assert texts_of(workspace, SETTLEMENT) == sorted(SETTLEMENT_TEXTS)
        assert texts_of(workspace, PAYMENT) == sorted(PAYMENT_TEXTS)


def test_what_was_said_about_the_target_since_stays_with_it(gateways: Workspace) -> None:
    merged = merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    since = "The staging copy of the Borealis gateway lives in Frankfurt."
    remember(gateways, draft(since, minutes=50))
    undo(gateways, merged)
    settle(gateways)
    assert texts_of(gateways, ATLAS) == sorted([*ATLAS_TEXTS, since])
    assert texts_of(gateways, BOREALIS) == sorted(BOREALIS_TEXTS)


@pytest.mark.slow
def test_what_was_forgotten_or_corrected_since_does_not_come_back(gateways: Workspace) -> None:
    merged = merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    principal = principal_of(gateways)
    forgotten = active_leaf(gateways, "budget")
    forget_leaf(gateways, principal=principal, scopes=None, leaf_id=forgotten.id)
    wrong = active_leaf(gateways, "rewritten")
    right = "The Borealis gateway was rewritten in Rust during the winter."
    correct_leaf(gateways, principal=principal, scopes=None, leaf_id=wrong.id, text=right)
    undo(gateways, merged)
    settle(gateways)
    assert texts_of(gateways, BOREALIS) == [BOREALIS_TEXTS[0]]
    assert texts_of(gateways, ATLAS) == sorted([*ATLAS_TEXTS, right])
    assert found_by_words(gateways, "budget") == []


@pytest.mark.slow
def test_a_text_that_came_back_by_itself_is_not_doubled(gateways: Workspace) -> None:
    """Between the undo and its batches the same words are said again."""
    merged = merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    undo(gateways, merged)
    with workspace_scope(gateways, ALL_SCOPES):
        jobs = gateways.jobs.filter(topic="entity.merge", state="ready")
        [job_id] = jobs.values_list("id", flat=True)
        jobs.update(next_try_at="9999-01-01T00:00:00Z")
    remember(gateways, draft(BOREALIS_TEXTS[1], minutes=70))
    assert texts_of(gateways, BOREALIS) == [BOREALIS_TEXTS[1]]
    with workspace_scope(gateways, ALL_SCOPES):
        gateways.jobs.filter(id=job_id).update(next_try_at="2020-01-01T00:00:00Z")
    settle(gateways)
    assert texts_of(gateways, BOREALIS) == sorted(BOREALIS_TEXTS)
    assert texts_of(gateways, ATLAS) == sorted(ATLAS_TEXTS)


@pytest.mark.slow
def test_an_undo_goes_on_where_it_stopped(
    gateways: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    for module in (merge_run, unmerge):
        monkeypatch.setattr(module, "BATCH_LEAVES", 1)
        monkeypatch.setattr(module, "BATCH_MENTIONS", 1)
    monkeypatch.setattr(merge_run, "PASS_SECONDS", 0)
    undo(gateways, merged)
    assert entity(gateways, BOREALIS).merged_into is None
    settle(gateways)
    assert texts_of(gateways, BOREALIS) == sorted(BOREALIS_TEXTS)


@pytest.mark.slow
def test_an_earlier_merge_is_taken_back_after_the_later_one(gateways: Workspace) -> None:
    first = merge(gateways, MARA, BOREALIS)
    settle(gateways)
    second = merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    with pytest.raises(Conflict) as refused:
        undo(gateways, first)
    assert refused.value.detail == {"code": "merged", "slug": ATLAS}
    undo(gateways, second)
    assert entity(gateways, MARA).merged_into == entity(gateways, BOREALIS)
    settle(gateways)
    assert texts_of(gateways, BOREALIS) == sorted([*BOREALIS_TEXTS, SPEAKS_OF_BOREALIS])
    undo(gateways, first)
    settle(gateways)
    assert texts_of(gateways, MARA) == [SPEAKS_OF_BOREALIS]
    assert texts_of(gateways, BOREALIS) == sorted(BOREALIS_TEXTS)


@pytest.mark.slow
def test_a_merge_waits_until_an_undo_has_ended(gateways: Workspace) -> None:
    merged = merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    undo(gateways, merged)
    with pytest.raises(Conflict) as refused:
        merge(gateways, BOREALIS, MARA)
    assert refused.value.detail["code"] == "undo_running"
    settle(gateways)
    merge(gateways, BOREALIS, MARA)
    settle(gateways)


def test_an_undo_is_refused_once_the_name_is_the_targets_own(gateways: Workspace) -> None:
    merged = merge(gateways, BOREALIS, ATLAS)
    rename(gateways, ATLAS, "Borealis gateway")
    with pytest.raises(Conflict) as refused:
        undo(gateways, merged)
    assert refused.value.detail == {"code": "name_taken", "slug": ATLAS}
    settle(gateways)
    assert entity(gateways, BOREALIS).merged_into == entity(gateways, ATLAS)


def test_a_merge_is_undone_once(gateways: Workspace) -> None:
    merged = merge(gateways, BOREALIS, ATLAS)
    undo(gateways, merged)
    with pytest.raises(Conflict):
        undo(gateways, merged)
    settle(gateways)
