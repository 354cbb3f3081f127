"""Merges: every memory of the one lands with the other, none is doubled, none is lost."""

from uuid import UUID

import pytest
from django.core.files.base import ContentFile

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict, InvalidInput, NotFound
from tests.faults.crash import end_pauses
from tests.faults.gates import claim
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
)
from tests.workspaces.memory import draft, drain, principal_of, remember, unfinished_jobs
from workspaces.bodies import body_storage, delete_bodies, read_bytes, read_front_matter
from workspaces.models.jobs import Job
from workspaces.models.merges import EntityMerge
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree
from workspaces.services import indexing
from workspaces.services.corrections.forget import forget_leaf, restore_leaf
from workspaces.services.corrections.move import move_leaf
from workspaces.services.entities import merge_run
from workspaces.services.owner_reads import FALLBACK_SLUG
from workspaces.services.tenants import update_workspace
from workspaces.services.worker import run_job

MARA = "mara-lindqvist"
SHARED = "Rate limits live in Redis."


def settle(workspace: Workspace) -> None:
    drain(workspace)
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


@pytest.fixture
def gateways(workspace: Workspace) -> Workspace:
    remember_gateways(workspace)
    return workspace


@pytest.fixture
def platforms(workspace: Workspace) -> Workspace:
    remember_platforms(workspace)
    return workspace


def leaves_of(workspace: Workspace, slug: str, status: str = "active") -> list[SourceLeaf]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(
            workspace.leaves.select_related("moved_from_leaf").filter(
                entity__slug=slug, status=status
            )
        )


def test_all_leaves_move_and_the_merged_one_leads_to_the_other(gateways: Workspace) -> None:
    merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    assert texts_of(gateways, ATLAS) == sorted([*ATLAS_TEXTS, *BOREALIS_TEXTS])
    assert texts_of(gateways, BOREALIS) == []
    merged, target = entity(gateways, BOREALIS), entity(gateways, ATLAS)
    assert merged.merged_into == target
    assert target.aliases == ["Borealis gateway"]
    emptied = tree(gateways, BOREALIS)
    assert (emptied.leaf_count, emptied.status) == (0, Tree.Status.EMPTY)


def test_a_moved_leaf_is_the_same_memory_in_another_tree(gateways: Workspace) -> None:
    before = {leaf.id: leaf for leaf in leaves_of(gateways, BOREALIS)}
    merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    moved = [leaf for leaf in leaves_of(gateways, ATLAS) if leaf.moved_from_leaf_id]
    assert {leaf.moved_from_leaf_id for leaf in moved} == set(before)
    for leaf in moved:
        old = before[leaf.moved_from_leaf_id]
        kept = ("fingerprint", "observed_at", "title", "summary", "subject_key", "labels")
        assert [getattr(leaf, name) for name in kept] == [getattr(old, name) for name in kept]
        assert read_front_matter(leaf.body_path)["moved_from"] == str(old.id)
        with workspace_scope(gateways, ALL_SCOPES):
            sources = [
                list(gateways.leaf_sources.filter(leaf=one).values_list("event", "is_creator"))
                for one in (leaf, old)
            ]
        assert sources[0] == sources[1]
    assert len(leaves_of(gateways, BOREALIS, "inactive")) == len(before)


def test_vectors_go_along_and_nothing_is_embedded_again(
    gateways: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse() -> None:
        asked.append("embedder")
        raise AssertionError("embedded again")

    monkeypatch.setattr(indexing, "embedder", refuse)
    merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    assert asked == []


def test_leaves_of_other_trees_speak_of_the_target(gateways: Workspace) -> None:
    assert speaking_of(gateways, BOREALIS) == [SPEAKS_OF_BOREALIS]
    merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    assert speaking_of(gateways, BOREALIS) == []
    assert speaking_of(gateways, ATLAS) == [SPEAKS_OF_BOREALIS]


def test_everything_is_found_by_the_names_of_both(gateways: Workspace) -> None:
    merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    everything = sorted([*ATLAS_TEXTS, *BOREALIS_TEXTS, SPEAKS_OF_BOREALIS])
    assert found_by_words(gateways, "atlas gateway") == everything
    assert found_by_words(gateways, "borealis gateway") == everything


def test_chinese_entities_merge_in_the_same_way(platforms: Workspace) -> None:
    merge(platforms, SETTLEMENT, PAYMENT)
    settle(platforms)
    everything = sorted([*PAYMENT_TEXTS, *SETTLEMENT_TEXTS])
    assert texts_of(platforms, PAYMENT) == everything
    assert found_by_words(platforms, "结算平台") == everything
    results = remember(platforms, draft("结算平台的接口人是王芳。", minutes=30))
    assert results[0].chunks[0].tree_key == f"interaction:{PAYMENT}"
    settle(platforms)


def test_a_text_that_both_trees_hold_is_one_leaf_with_all_sources(workspace: Workspace) -> None:
    remember_gateways(workspace)
    [twin] = [leaf for leaf in leaves_of(workspace, ATLAS) if "8443" in leaf.title]
    with workspace_scope(workspace, ALL_SCOPES):
        # The same words about the other gateway, as a person would have moved them there.
        other = workspace.entities.get(slug=BOREALIS)
    same = draft("The Atlas gateway listens on port 8443.", minutes=40)
    copy_into(workspace, same, slug=BOREALIS, entity_id=other.id)
    before = len(texts_of(workspace, BOREALIS))
    assert before == len(BOREALIS_TEXTS) + 1
    merge(workspace, BOREALIS, ATLAS)
    settle(workspace)
    texts = texts_of(workspace, ATLAS)
    assert len(texts) == len(set(texts)) == len(ATLAS_TEXTS) + len(BOREALIS_TEXTS)
    with workspace_scope(workspace, ALL_SCOPES):
        sources = workspace.leaf_sources.filter(leaf__fingerprint=twin.fingerprint)
        active = sources.filter(leaf__status="active")
        assert active.values("event").distinct().count() == 2


def copy_into(workspace: Workspace, one: object, *, slug: str, entity_id: UUID) -> None:
    """Remember a text that this entity owns as well: said in a tree that is renamed meanwhile."""
    rename(workspace, ATLAS, "Atlas gateway one")
    with workspace_scope(workspace, ALL_SCOPES):
        [leaf] = workspace.leaves.filter(entity__slug=ATLAS, title__contains="8443")
    move_leaf(
        workspace,
        principal=principal_of(workspace),
        scopes=None,
        leaf_id=leaf.id,
        entity_slug=slug,
    )
    drain(workspace)
    remember(workspace, one)  # type: ignore[arg-type]


def test_history_stays_readable_under_the_old_tree(workspace: Workspace) -> None:
    window = "The deployment window of the Borealis gateway is {}Monday from 10:00 to 12:00."
    remember_gateways(workspace)
    remember(workspace, draft(window.format(""), minutes=20))
    newer = window.format("now ").replace("Monday", "Tuesday")
    remember(workspace, draft(newer, minutes=60))
    [old] = leaves_of(workspace, BOREALIS, "superseded")
    merge(workspace, BOREALIS, ATLAS)
    settle(workspace)
    assert texts_of(workspace, BOREALIS, status="superseded") == [window.format("")]
    [kept] = leaves_of(workspace, BOREALIS, "superseded")
    assert (kept.id, kept.valid_until) == (old.id, old.valid_until)
    assert newer in texts_of(workspace, ATLAS)


def test_an_entity_of_the_system_is_never_merged(gateways: Workspace) -> None:
    remember(gateways, draft("The printer on the third floor is out of toner again.", minutes=30))
    for pair in ((FALLBACK_SLUG, ATLAS), (ATLAS, FALLBACK_SLUG)):
        with pytest.raises(Conflict) as refused:
            merge(gateways, *pair)
        assert refused.value.detail["code"] == "system_entity"


def test_a_merge_needs_two_entities_of_one_scope(gateways: Workspace) -> None:
    remember_gateways(gateways, user_id="ann")
    rename(gateways, ATLAS, "Apollo gateway")
    with pytest.raises(NotFound):
        merge(gateways, "nobody", ATLAS)
    with pytest.raises(InvalidInput) as refused:
        merge(gateways, ATLAS, "nobody")
    assert refused.value.field == "into"
    with pytest.raises(Conflict) as conflict:
        merge(gateways, ATLAS, ATLAS)
    assert conflict.value.detail["code"] == "same_entity"
    merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    with workspace_scope(gateways, ALL_SCOPES):
        ann = gateways.end_users.get(ref="ann").id
        private = gateways.leaves.filter(scope_id=ann, status="active")
        assert private.filter(entity__slug=BOREALIS).count() == len(BOREALIS_TEXTS)


def test_the_same_merge_again_is_the_same_answer(gateways: Workspace) -> None:
    first = merge(gateways, BOREALIS, ATLAS)
    assert merge(gateways, BOREALIS, ATLAS) == first
    settle(gateways)
    assert merge(gateways, BOREALIS, ATLAS) == first
    assert unfinished_jobs(gateways) == []


def test_a_merged_entity_is_no_longer_changed_and_stands_for_its_target(
    gateways: Workspace,
) -> None:
    merge(gateways, BOREALIS, ATLAS)
    with pytest.raises(Conflict) as refused:
        rename(gateways, BOREALIS, "Polar gateway")
    assert refused.value.detail == {"code": "merged", "slug": ATLAS}
    with pytest.raises(Conflict):
        merge(gateways, BOREALIS, MARA)
    with pytest.raises(Conflict):
        merge(gateways, ATLAS, BOREALIS)  # into what it took in itself
    merge(gateways, MARA, BOREALIS)
    assert entity(gateways, MARA).merged_into == entity(gateways, ATLAS)
    settle(gateways)
    assert SPEAKS_OF_BOREALIS in texts_of(gateways, ATLAS)


@pytest.mark.slow
def test_a_chain_of_merges_ends_in_the_last_tree(gateways: Workspace) -> None:
    merge(gateways, MARA, BOREALIS)
    merge(gateways, BOREALIS, ATLAS)  # before a leaf of the first merge has moved
    assert entity(gateways, MARA).merged_into == entity(gateways, ATLAS)
    settle(gateways)
    everything = [*ATLAS_TEXTS, *BOREALIS_TEXTS, SPEAKS_OF_BOREALIS]
    assert texts_of(gateways, ATLAS) == sorted(everything)


def test_the_target_may_take_the_name_of_the_merged_one(gateways: Workspace) -> None:
    merge(gateways, BOREALIS, ATLAS)
    rename(gateways, ATLAS, "Borealis gateway")
    assert entity(gateways, ATLAS).aliases == ["Atlas gateway"]
    settle(gateways)


def test_new_memories_of_the_merged_one_land_with_the_target_at_once(gateways: Workspace) -> None:
    merge(gateways, BOREALIS, ATLAS)
    text = "The staging copy of the Borealis gateway lives in Frankfurt."
    [result] = remember(gateways, draft(text, minutes=50))
    assert result.chunks[0].tree_key == f"interaction:{ATLAS}"
    settle(gateways)
    assert texts_of(gateways, BOREALIS) == []


@pytest.mark.slow
def test_a_merge_shows_how_far_it_is_and_goes_on_where_it_stopped(
    gateways: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_run, "BATCH_LEAVES", 1)
    monkeypatch.setattr(merge_run, "BATCH_MENTIONS", 1)
    monkeypatch.setattr(merge_run, "PASS_SECONDS", 0)
    merge(gateways, BOREALIS, ATLAS)
    seen = [last_merge(gateways)]
    while last_merge(gateways).state == EntityMerge.State.MOVING:
        assert_clean(gateways)
        run_merge_job(gateways)
        seen.append(last_merge(gateways))
    assert [row.leaves_done for row in seen][:4] == [0, 1, 2, 3]
    assert {row.leaves_total for row in seen} == {len(BOREALIS_TEXTS)}
    assert seen[-1].state == EntityMerge.State.DONE
    settle(gateways)


def run_merge_job(workspace: Workspace) -> None:
    run_job(claim(workspace, topic=Job.Topic.ENTITY_MERGE, target_id=last_merge(workspace).id))


@pytest.mark.slow
def test_sealed_trees_are_right_after_a_merge(workspace: Workspace) -> None:
    workspace = update_workspace(workspace, settings={"seal_threshold": 2})
    remember_gateways(workspace)
    assert tree(workspace, BOREALIS).root_id is not None
    merge(workspace, BOREALIS, ATLAS)
    settle(workspace)
    assert tree(workspace, BOREALIS).root_id is None
    merged = tree(workspace, ATLAS)
    assert merged.leaf_count == len(ATLAS_TEXTS) + len(BOREALIS_TEXTS)
    assert merged.height >= 2


@pytest.mark.slow
def test_a_tree_is_not_summarised_again_for_every_batch(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = update_workspace(workspace, settings={"seal_threshold": 2})
    remember_gateways(workspace)
    monkeypatch.setattr(merge_run, "BATCH_LEAVES", 1)
    monkeypatch.setattr(merge_run, "PASS_SECONDS", 0)
    with workspace_scope(workspace, ALL_SCOPES):
        before = workspace.summaries.filter(tree__key=f"interaction:{BOREALIS}").count()
    merge(workspace, BOREALIS, ATLAS)
    settle(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        after = workspace.summaries.filter(tree__key=f"interaction:{BOREALIS}").count()
    assert after == before


def test_a_forgotten_leaf_stays_behind_and_follows_when_it_is_restored(
    gateways: Workspace,
) -> None:
    principal = principal_of(gateways)
    [leaf] = [leaf for leaf in leaves_of(gateways, BOREALIS) if "budget" in leaf.title]
    forget_leaf(gateways, principal=principal, scopes=None, leaf_id=leaf.id)
    merge(gateways, BOREALIS, ATLAS)
    settle(gateways)
    assert not any("budget" in text for text in texts_of(gateways, ATLAS))
    restore_leaf(gateways, principal=principal, scopes=None, leaf_id=leaf.id)
    settle(gateways)
    assert any("budget" in text for text in texts_of(gateways, ATLAS))
    assert texts_of(gateways, BOREALIS) == []


@pytest.mark.slow
def test_a_leaf_whose_body_is_gone_parks_the_merge_and_moves_the_rest(
    workspace: Workspace,
) -> None:
    remember_platforms(workspace)
    gone, *_ = leaves_of(workspace, SETTLEMENT)
    data = read_bytes(gone.body_path)
    delete_bodies([gone.body_path])
    merge(workspace, SETTLEMENT, PAYMENT)
    drain(workspace)
    assert last_merge(workspace).state == EntityMerge.State.MOVING
    assert len(texts_of(workspace, PAYMENT)) == len(PAYMENT_TEXTS) + len(SETTLEMENT_TEXTS) - 1
    [reason] = [why for topic, _, why in unfinished_jobs(workspace) if topic == "entity.merge"]
    assert reason.startswith("body_corrupt")
    body_storage().save(gone.body_path, ContentFile(data))
    end_pauses(workspace)
    settle(workspace)
    assert last_merge(workspace).state == EntityMerge.State.DONE
