"""A sentence that says who somebody is brings what was said of them under their name."""

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, principal_of, remember
from workspaces.models.tenancy import Workspace
from workspaces.services.entities.changes import EntityEdit, edit_entity


def owners(workspace: Workspace, scope: str | None = None) -> dict[str, str]:
    """The name of the owner of each active leaf, by the leaf's title."""
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.leaves.filter(status="active").select_related("entity")
        return {leaf.title: leaf.entity.name for leaf in rows if leaf.entity}


@pytest.mark.parametrize(
    ("before", "told", "after", "name"),
    [
        ("我的上司在深圳上班。", "我的上司名叫赵雅琳。", "我上司的生日是12月10号。", "赵雅琳"),
        (
            "My sister lives in Lisbon.",
            "My sister is called Anna.",
            "My sister works for a bank in Porto.",
            "Anna",
        ),
    ],
)
def test_what_was_said_before_and_after_the_name_is_told_is_in_one_tree(
    workspace: Workspace, before: str, told: str, after: str, name: str
) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate((before, told, after))])
    assert set(owners(workspace).values()) == {name}
    assert len(owners(workspace)) == 3
    assert_clean(workspace)


def test_a_second_one_of_the_kind_is_another_and_takes_nothing_over(workspace: Workspace) -> None:
    texts = ("我表弟叫张伟。", "我表弟叫李强。", "我表弟李强在杭州工作。")
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(texts)])
    with workspace_scope(workspace, ALL_SCOPES):
        entities = {row.name: row.aliases for row in workspace.entities.filter(is_system=False)}
    assert entities == {"张伟": [], "李强": []}
    assert owners(workspace)["我表弟李强在杭州工作"] == "李强"
    assert_clean(workspace)


def test_what_is_said_of_a_new_boss_is_not_said_of_the_old_one(workspace: Workspace) -> None:
    texts = (
        "我的上司名叫赵雅琳。",
        "我的上司在深圳上班。",
        "我的上司名叫陈志远。",
        "我的上司在上海上班，每周三开会。",
    )
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(texts)])
    found = owners(workspace)
    assert found["我的上司在深圳上班"] == "赵雅琳"
    assert "赵雅琳" not in [name for title, name in found.items() if "上海" in title]
    assert_clean(workspace)


def test_a_person_may_keep_a_relation_among_the_aliases(workspace: Workspace) -> None:
    remember(workspace, draft("我的上司名叫赵雅琳。"))
    with workspace_scope(workspace, ALL_SCOPES):
        entity = workspace.entities.get(name="赵雅琳")
    edit_entity(
        workspace,
        principal=principal_of(workspace),
        scopes=ALL_SCOPES,
        slug=entity.slug,
        edit=EntityEdit(aliases=[*entity.aliases, "雅琳姐"]),
    )
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.entities.get(id=entity.id).aliases == ["我的上司", "我上司", "雅琳姐"]
    drain(workspace)
    assert_clean(workspace)


def test_two_people_of_a_workspace_have_each_their_own(workspace: Workspace) -> None:
    remember(
        workspace,
        draft("我的上司名叫赵雅琳。", user_id="ada"),
        draft("我的上司名叫陈志远。", user_id="bo", minutes=1),
        draft("我的上司在上海上班。", user_id="bo", minutes=2),
    )
    with workspace_scope(workspace, ALL_SCOPES):
        leaves = workspace.leaves.filter(status="active").select_related("entity")
        found = {(leaf.title, leaf.entity.name) for leaf in leaves if leaf.entity}
    assert {name for title, name in found if "上海" in title} == {"陈志远"}
    assert_clean(workspace)
