"""Renames and aliases: nothing that was found by a name is lost by a change of names."""

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict, InvalidInput, NotFound
from tests.verification import assert_clean
from tests.workspaces.entities import (
    ATLAS,
    ATLAS_TEXTS,
    BOREALIS,
    BOREALIS_TEXTS,
    PAYMENT,
    PAYMENT_TEXTS,
    SETTLEMENT,
    SPEAKS_OF_BOREALIS,
    entity,
    found_by_words,
    remember_gateways,
    remember_platforms,
    rename,
    tree,
    undo,
)
from tests.workspaces.memory import draft, drain, principal_of, remember, unfinished_jobs
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.entities.changes import (
    EntityChanged,
    EntityEdit,
    add_alias,
    edit_entity,
    remove_alias,
)
from workspaces.services.owner_reads import FALLBACK_SLUG


def give_alias(workspace: Workspace, slug: str, alias: str) -> EntityChanged:
    return add_alias(
        workspace, principal=principal_of(workspace), scopes=None, slug=slug, alias=alias
    )


def take_alias(workspace: Workspace, slug: str, alias: str) -> EntityChanged:
    return remove_alias(
        workspace, principal=principal_of(workspace), scopes=None, slug=slug, alias=alias
    )


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


def test_a_rename_keeps_slug_and_tree_and_the_old_name_as_alias(gateways: Workspace) -> None:
    before = tree(gateways, BOREALIS)
    rename(gateways, BOREALIS, "Polar gateway")
    changed, after = entity(gateways, BOREALIS), tree(gateways, BOREALIS)
    assert (changed.name, changed.aliases) == ("Polar gateway", ["Borealis gateway"])
    assert (after.id, after.title) == (before.id, "Polar gateway")
    settle(gateways)


def test_what_is_remembered_is_found_by_the_new_name_and_by_the_old(gateways: Workspace) -> None:
    assert found_by_words(gateways, "Polar gateway") == []
    rename(gateways, BOREALIS, "Polar gateway")
    settle(gateways)
    everything = sorted([*BOREALIS_TEXTS, SPEAKS_OF_BOREALIS])
    assert found_by_words(gateways, "Polar gateway") == everything
    assert found_by_words(gateways, "Borealis gateway") == everything


def test_a_chinese_entity_is_renamed_and_found_by_both_names(platforms: Workspace) -> None:
    rename(platforms, PAYMENT, "收银网关")
    settle(platforms)
    changed = entity(platforms, PAYMENT)
    assert (changed.slug, changed.name, changed.aliases) == (PAYMENT, "收银网关", ["支付网关"])
    assert found_by_words(platforms, "收银网关") == sorted(PAYMENT_TEXTS)
    assert found_by_words(platforms, "支付网关") == sorted(PAYMENT_TEXTS)


def test_new_memories_of_either_name_land_in_the_same_tree(platforms: Workspace) -> None:
    rename(platforms, PAYMENT, "收银网关")
    texts = ("收银网关部署在杭州机房。", "支付网关的端口是 8443。")
    results = remember(platforms, *[draft(t, minutes=20 + n) for n, t in enumerate(texts)])
    assert {result.chunks[0].tree_key for result in results} == {f"interaction:{PAYMENT}"}
    settle(platforms)


@pytest.mark.parametrize("taken", ["Atlas gateway", "ATLAS  Gateway", "Ａｔｌａｓ gateway"])
def test_a_name_that_another_entity_has_is_refused_and_named(
    gateways: Workspace, taken: str
) -> None:
    with pytest.raises(Conflict) as refused:
        rename(gateways, BOREALIS, taken)
    assert refused.value.detail == {"code": "name_taken", "slug": ATLAS}
    with pytest.raises(Conflict) as refused:
        give_alias(gateways, BOREALIS, taken)
    assert refused.value.detail["slug"] == ATLAS
    assert entity(gateways, BOREALIS).name == "Borealis gateway"


def test_an_alias_of_another_entity_is_taken_as_well(platforms: Workspace) -> None:
    give_alias(platforms, SETTLEMENT, "清算 平台")
    with pytest.raises(Conflict):
        rename(platforms, PAYMENT, "清算平台")
    with pytest.raises(Conflict):
        give_alias(platforms, PAYMENT, "清算平台")
    settle(platforms)


@pytest.mark.parametrize("name", ["Gateway", "the system", "项目", "???", "12", "TBD", "Today", ""])
def test_a_word_that_names_nothing_particular_is_refused(gateways: Workspace, name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        rename(gateways, BOREALIS, name)
    assert (refused.value.field, refused.value.detail["code"]) == ("name", "unusable_name")
    with pytest.raises(InvalidInput):
        give_alias(gateways, BOREALIS, name)


def test_another_spelling_of_the_same_name_makes_no_alias(gateways: Workspace) -> None:
    rename(gateways, BOREALIS, "BOREALIS Gateway")
    changed = entity(gateways, BOREALIS)
    assert (changed.name, changed.aliases) == ("BOREALIS Gateway", [])
    settle(gateways)


def test_the_present_name_again_changes_nothing(gateways: Workspace) -> None:
    assert rename(gateways, BOREALIS, "Borealis gateway").audit_id is None
    assert unfinished_jobs(gateways) == []


def test_an_alias_is_given_once_and_taken_away(gateways: Workspace) -> None:
    assert give_alias(gateways, BOREALIS, "Northgate").audit_id is not None
    assert give_alias(gateways, BOREALIS, "ｎｏｒｔｈｇａｔｅ").audit_id is None
    settle(gateways)
    assert len(found_by_words(gateways, "northgate")) == len(BOREALIS_TEXTS) + 1
    take_alias(gateways, BOREALIS, "NORTHGATE")
    settle(gateways)
    assert found_by_words(gateways, "northgate") == []
    with pytest.raises(NotFound):
        take_alias(gateways, BOREALIS, "Northgate")


def test_the_name_itself_cannot_be_taken_away(gateways: Workspace) -> None:
    with pytest.raises(Conflict) as refused:
        take_alias(gateways, BOREALIS, "borealis GATEWAY")
    assert refused.value.detail["code"] == "primary_name"


def test_a_rename_to_an_alias_swaps_the_two(gateways: Workspace) -> None:
    give_alias(gateways, BOREALIS, "Northgate")
    renamed = rename(gateways, BOREALIS, "Northgate")
    assert entity(gateways, BOREALIS).aliases == ["Borealis gateway"]
    undo(gateways, renamed)
    assert entity(gateways, BOREALIS).aliases == ["Northgate"]
    settle(gateways)


def test_names_aliases_and_description_change_together_or_not_at_all(gateways: Workspace) -> None:
    edit = EntityEdit(name="Polar gateway", aliases=["Northgate"], description="In Oslo.")
    principal = principal_of(gateways)
    done = edit_entity(gateways, principal=principal, scopes=None, slug=BOREALIS, edit=edit)
    assert len(done) == 3
    changed = entity(gateways, BOREALIS)
    assert changed.aliases == ["Borealis gateway", "Northgate"]
    refused = EntityEdit(aliases=[], name="Atlas gateway")
    with pytest.raises(Conflict):
        edit_entity(gateways, principal=principal, scopes=None, slug=BOREALIS, edit=refused)
    assert entity(gateways, BOREALIS).aliases == ["Borealis gateway", "Northgate"]
    settle(gateways)


def test_the_fallback_bucket_keeps_its_name(workspace: Workspace) -> None:
    remember(workspace, draft("The printer on the third floor is out of toner again."))
    for change in (rename, give_alias, take_alias):
        with pytest.raises(Conflict):
            change(workspace, FALLBACK_SLUG, "Leftovers")
    settle(workspace)


def test_every_change_is_undone_once(gateways: Workspace) -> None:
    renamed = rename(gateways, BOREALIS, "Polar gateway")
    given = give_alias(gateways, BOREALIS, "Northgate")
    undo(gateways, renamed)
    changed = entity(gateways, BOREALIS)
    assert (changed.name, changed.aliases) == ("Borealis gateway", ["Northgate"])
    assert tree(gateways, BOREALIS).title == "Borealis gateway"
    undo(gateways, given)
    assert entity(gateways, BOREALIS).aliases == []
    for change in (renamed, given):
        with pytest.raises(Conflict):
            undo(gateways, change)
    settle(gateways)
    assert found_by_words(gateways, "polar northgate") == []


def test_an_alias_that_was_taken_away_comes_back(platforms: Workspace) -> None:
    give_alias(platforms, PAYMENT, "收银台")
    taken = take_alias(platforms, PAYMENT, "收银台")
    undo(platforms, taken)
    settle(platforms)
    assert found_by_words(platforms, "收银台") == sorted(PAYMENT_TEXTS)


def test_an_undo_is_refused_where_the_names_moved_on(gateways: Workspace) -> None:
    first = rename(gateways, BOREALIS, "Polar gateway")
    rename(gateways, BOREALIS, "Arctic gateway")
    with pytest.raises(Conflict):
        undo(gateways, first)
    taken = take_alias(gateways, BOREALIS, "Polar gateway")
    rename(gateways, ATLAS, "Polar gateway")
    with pytest.raises(Conflict) as refused:
        undo(gateways, taken)
    assert refused.value.detail["slug"] == ATLAS
    settle(gateways)


def test_each_change_is_audited_and_asks_for_another_look(gateways: Workspace) -> None:
    changed = rename(gateways, BOREALIS, "Polar gateway")
    with workspace_scope(gateways, ALL_SCOPES):
        entry = gateways.audit_entries.get(id=changed.audit_id)
        topics = {job.topic for job in gateways.jobs.filter(state=Job.State.READY)}
    assert (entry.action, entry.actor) == ("entity.renamed", "test")
    assert entry.detail["new"] == "Polar gateway"
    assert {Job.Topic.ENTITY_NAMES, Job.Topic.ENTITY_CHANGED} <= topics
    settle(gateways)


def test_a_private_entity_is_changed_in_its_own_scope_only(workspace: Workspace) -> None:
    remember_gateways(workspace)
    remember_gateways(workspace, user_id="ann")
    with workspace_scope(workspace, ALL_SCOPES):
        ann = workspace.end_users.get(ref="ann").id
    principal = principal_of(workspace)
    edit_entity(
        workspace,
        principal=principal,
        scopes=[ann],
        slug=BOREALIS,
        edit=EntityEdit(name="Polar gateway"),
    )
    settle(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        names = dict(workspace.entities.filter(slug=BOREALIS).values_list("scope_id", "name"))
    assert names == {workspace.id: "Borealis gateway", ann: "Polar gateway"}
    found = found_by_words(workspace, "polar gateway")
    assert found == sorted([*BOREALIS_TEXTS, SPEAKS_OF_BOREALIS])
    assert ATLAS_TEXTS[0] not in found


def test_a_refresh_goes_on_where_it_stopped(
    gateways: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One leaf a batch, and every pass is over at once: the mark on the entity leads on."""
    from workspaces.services.entities import refresh

    monkeypatch.setattr(refresh, "BATCH", 1)
    monkeypatch.setattr(refresh, "PASS_SECONDS", 0)
    rename(gateways, BOREALIS, "Polar gateway")
    settle(gateways)
    assert entity(gateways, BOREALIS).names_indexed_to is None
    assert len(found_by_words(gateways, "polar gateway")) == len(BOREALIS_TEXTS) + 1
