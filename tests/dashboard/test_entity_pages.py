"""Entities: found, named, merged with a look before, and everything taken back."""

import pytest
from django.test import Client

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.dashboard.memory import Filled
from tests.dashboard.pages import Memory, count_queries, messages_in, one_leaf, page_of, undo_in
from tests.dashboard.people import make_person, signed_in_client
from tests.workspaces.memory import drain
from workspaces.models.entities import Entity
from workspaces.models.tenancy import Workspace

HARBOR = "The Harbor tool deploys every service."
CHANGES = ["rename/", "aliases/add/", "aliases/remove/"]


def entity_of(workspace: Workspace, leaf_id: object) -> Entity:
    with workspace_scope(workspace, ALL_SCOPES):
        leaf = workspace.leaves.select_related("entity").get(id=leaf_id)
    assert leaf.entity is not None
    return leaf.entity


def reread(memory: Memory, entity: Entity) -> Entity:
    with workspace_scope(memory.workspace, ALL_SCOPES):
        return memory.workspace.entities.get(id=entity.id)


@pytest.fixture
def atlas(memory: Memory) -> Entity:
    return entity_of(memory.workspace, memory.leaf_id)


@pytest.fixture
def harbor(memory: Memory) -> Entity:
    return entity_of(memory.workspace, one_leaf(memory.workspace, HARBOR, minutes=5))


def page_address(memory: Memory, entity: Entity, action: str = "") -> str:
    return memory.address(f"entities/{entity.id}/{action}")


def test_the_list_shows_names_types_and_leaves_and_finds_by_any_name(
    member: Client, memory: Memory, atlas: Entity, harbor: Entity
) -> None:
    page = page_of(member.get(memory.address("entities/")))
    assert atlas.name in page
    assert harbor.slug in page
    hit = page_of(member.get(memory.address("entities/"), {"q": harbor.name[:4].lower()}))
    assert harbor.slug in hit
    assert atlas.slug not in hit
    kept = page_of(member.get(memory.address("entities/"), {"type": atlas.type}))
    assert atlas.slug in kept
    none = page_of(member.get(memory.address("entities/"), {"type": "customer"}))
    assert "No entity matches this filter." in none


def test_the_list_costs_the_same_with_more_rows(
    member: Client, memory: Memory, atlas: Entity
) -> None:
    address = memory.address("entities/")
    member.get(address)
    few = count_queries(member, address)
    one_leaf(memory.workspace, HARBOR, minutes=5)
    one_leaf(memory.workspace, "The Beacon board shows every alarm.", minutes=6)
    assert count_queries(member, address) == few


def test_a_renamed_entity_keeps_its_slug_and_the_name_is_taken_back(
    member: Client, memory: Memory, atlas: Entity
) -> None:
    answer = member.post(page_address(memory, atlas, "rename/"), {"name": "Atlas"}, follow=True)
    page = page_of(answer)
    assert "The entity has a new name." in page
    assert reread(memory, atlas).name == "Atlas"
    assert reread(memory, atlas).slug == atlas.slug
    assert "renamed an entity" in page
    back = page_of(member.post(undo_in(messages_in(page)), follow=True))
    assert "The change is undone." in back
    assert reread(memory, atlas).name == atlas.name


def test_an_alias_is_added_and_removed(member: Client, memory: Memory, atlas: Entity) -> None:
    added = member.post(
        page_address(memory, atlas, "aliases/add/"), {"name": "Edge Gateway"}, follow=True
    )
    assert "The alias leads to this entity." in page_of(added)
    assert "Edge Gateway" in reread(memory, atlas).aliases
    found = page_of(member.get(memory.address("entities/"), {"q": "edge gateway"}))
    assert atlas.slug in found
    removed = member.post(
        page_address(memory, atlas, "aliases/remove/"), {"name": "Edge Gateway"}, follow=True
    )
    assert "The alias is removed." in page_of(removed)
    assert reread(memory, atlas).aliases == []


@pytest.mark.parametrize(
    ("action", "name", "reason"),
    [
        ("rename/", "", "This field is required."),
        ("rename/", "it", "A name stands for one particular thing"),
        ("rename/", "a\u202eb", "direction characters"),
        ("rename/", "x" * 201, "200"),
        ("aliases/remove/", "Nobody", "The entity has no such alias."),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_its_reason(
    member: Client, memory: Memory, atlas: Entity, action: str, name: str, reason: str
) -> None:
    answer = member.post(page_address(memory, atlas, action), {"name": name})
    assert reason in page_of(answer)
    assert reread(memory, atlas).name == atlas.name


def test_a_merge_shows_what_moves_moves_it_and_is_taken_back(
    member: Client, memory: Memory, atlas: Entity, harbor: Entity
) -> None:
    merge = page_address(memory, harbor, "merge/")
    preview = page_of(member.get(merge, {"into": atlas.name}))
    assert f"Merge {harbor.name} into {atlas.name}" in preview
    assert "<dt>Leaves that move</dt><dd>1</dd>" in preview
    assert reread(memory, harbor).merged_into_id is None
    page = page_of(member.post(merge, {"into": atlas.slug}, follow=True))
    assert "The entities are merged" in page
    assert reread(memory, harbor).merged_into_id == atlas.id
    assert "0 of 1 leaves moved" in page
    drain(memory.workspace)
    assert "1 of 1 leaves moved" in page_of(member.get(page_address(memory, atlas)))
    listed = page_of(member.get(memory.address("entities/")))
    assert harbor.slug not in listed
    merged = page_of(member.get(page_address(memory, harbor)))
    assert "part of another entity" in merged
    assert "Rename entity" not in merged
    member.post(undo_in(messages_in(page)), follow=True)
    drain(memory.workspace)
    assert reread(memory, harbor).merged_into_id is None


@pytest.mark.parametrize("into", ["nobody-knows-this", "", "\x00"])
def test_a_merge_into_what_there_is_not_is_refused(
    member: Client, memory: Memory, atlas: Entity, into: str
) -> None:
    merge = page_address(memory, atlas, "merge/")
    assert 'role="alert"' in page_of(member.get(merge, {"into": into}))
    assert 'role="alert"' in page_of(member.post(merge, {"into": into}))


def test_an_entity_is_not_merged_into_itself(member: Client, memory: Memory, atlas: Entity) -> None:
    page = page_of(member.post(page_address(memory, atlas, "merge/"), {"into": atlas.slug}))
    assert "An entity cannot be merged into itself" in page
    assert reread(memory, atlas).merged_into_id is None


def test_a_viewer_reads_entities_and_changes_none(viewer: Client, filled: Filled) -> None:
    with workspace_scope(filled.workspace, ALL_SCOPES):
        entity = filled.workspace.entities.filter(is_system=False).first()
    assert entity is not None
    address = filled.address(f"entities/{entity.id}/")
    page = page_of(viewer.get(address))
    assert entity.name in page
    assert "Rename entity" not in page
    assert "Merge into" not in page
    for action in CHANGES:
        assert viewer.post(address + action, {"name": "Harbor Two"}).status_code == 403
    assert viewer.get(address + "merge/", {"into": "x"}).status_code == 403
    assert viewer.post(address + "merge/", {"into": "x"}).status_code == 403


def test_an_entity_of_another_tenant_is_not_found(
    owner: Client, filled: Filled, memory: Memory, atlas: Entity
) -> None:
    for action in ("", "merge/?into=x"):
        assert owner.get(page_address(memory, atlas, action)).status_code == 404
    for action in CHANGES:
        posted = owner.post(page_address(memory, atlas, action), {"name": "Harbor Two"})
        assert posted.status_code == 404
    # In a workspace of their own it is not there either.
    assert owner.get(filled.address(f"entities/{atlas.id}/")).status_code == 404


def test_an_entity_private_to_one_user_is_named_in_that_users_memory_only(
    member: Client, memory: Memory, atlas: Entity
) -> None:
    from tests.workspaces.memory import draft, remember

    text = "The Atlas gateway listens on port 9999."
    result = remember(memory.workspace, draft(text, user_id="ann"))[0]
    private = entity_of(memory.workspace, result.chunks[0].leaf_id)
    assert private.scope_id != atlas.scope_id
    page = page_of(member.get(page_address(memory, private)))
    assert "private to ann" in page
    member.post(page_address(memory, private, "rename/"), {"name": "Annas Gateway"})
    assert reread(memory, private).name == "Annas Gateway"
    assert reread(memory, atlas).name == atlas.name


def test_the_pages_of_entities_speak_chinese(member: Client, memory: Memory, atlas: Entity) -> None:
    client = signed_in_client(make_person(memory.tenant))
    client.post("/language/", {"language": "zh-hans", "next": "/"})
    assert "按名称、别名或标识搜索" in page_of(client.get(memory.address("entities/")))
    assert "重命名实体" in page_of(client.get(page_address(memory, atlas)))
