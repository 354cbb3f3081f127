from datetime import timedelta
from typing import Any

import pytest

from holamem.errors import InvalidInput, NotFound
from holamem.ids import new_id
from retrieval.browse import browse
from retrieval.definitions import parse_browse
from tests.retrieval.factories import DAY, MemoryMaker
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.tenants import create_workspace


def look(workspace: Workspace, scopes: Any = None, **values: Any) -> dict[str, Any]:
    return browse(workspace, scopes=scopes, request=parse_browse(values)).as_dict()


def ids(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["node_id"] for entry in entries]


@pytest.fixture
def tree(words_only: MemoryMaker) -> MemoryMaker:
    leaves = [
        words_only.leaf(f"Atlas fact {n}.", observed_at=DAY + timedelta(hours=n)) for n in range(3)
    ]
    words_only.summary("Atlas has facts.\nMany of them.", children=leaves)
    words_only.leaf("Atlas waits in the buffer.", observed_at=DAY + timedelta(days=1))
    return words_only


def test_the_top_shows_the_categories(tree: MemoryMaker) -> None:
    answer = look(tree.workspace)

    assert answer["node"] is None
    assert [(c["path"], c["children_count"]) for c in answer["children"]] == [
        ("interaction", 1),
        ("integration", 0),
    ]


def test_a_path_leads_from_category_to_leaf(tree: MemoryMaker) -> None:
    key = tree.tree().key

    trees = look(tree.workspace, path="interaction")
    tops = look(tree.workspace, path=f"interaction/{key}")
    roots = look(tree.workspace, path=f"interaction/{key}/L1")
    leaves = look(tree.workspace, path=f"interaction/{key}/leaves")

    assert [entry["tree_key"] for entry in trees["children"]] == [key]
    assert [entry["node_kind"] for entry in tops["children"]] == ["summary", "leaf"]
    assert [entry["node_kind"] for entry in roots["children"]] == ["summary"]
    assert len(leaves["children"]) == 4


def test_a_summary_shows_its_body_and_children(tree: MemoryMaker) -> None:
    root = look(tree.workspace, path=f"interaction/{tree.tree().key}/L1")["children"][0]

    answer = look(tree.workspace, node_id=root["node_id"])

    assert "Atlas has facts." in answer["node"]["body"]
    assert len(answer["children"]) == 3
    assert answer["children"][0]["title"] == "Atlas fact 0."


def test_a_leaf_shows_its_parents_body_and_history(tree: MemoryMaker) -> None:
    old = tree.leaf("Port is 1.", status="superseded", observed_at=DAY - timedelta(days=2))
    new = tree.leaf("Port is 2.", supersedes_leaf=old)
    child = look(tree.workspace, path=f"interaction/{tree.tree().key}/leaves")["children"][0]
    inside = look(
        tree.workspace,
        node_id=look(tree.workspace, path=f"interaction/{tree.tree().key}/L1")["children"][0][
            "node_id"
        ],
    )["children"][0]

    answer = look(tree.workspace, node_id=str(new.id))
    below = look(tree.workspace, node_id=inside["node_id"])

    assert child["node_kind"] == "leaf"
    assert answer["node"]["body"] == "Port is 2."
    assert ids(answer["node"]["history"]) == [str(new.id), str(old.id)]
    assert answer["children"] == []
    assert [entry["level"] for entry in below["parents"]] == [1]


def test_depth_adds_children_of_children(tree: MemoryMaker) -> None:
    answer = look(tree.workspace, path="interaction", depth=3)

    tops = answer["children"][0]["children"]
    assert [entry["node_kind"] for entry in tops] == ["summary", "leaf"]
    assert len(tops[0]["children"]) == 3


def test_a_cursor_goes_on_over_summaries_and_leaves(tree: MemoryMaker) -> None:
    path = f"interaction/{tree.tree().key}"

    first = look(tree.workspace, path=path, limit=1)
    second = look(tree.workspace, path=path, limit=1, cursor=first["next_cursor"])

    assert [entry["node_kind"] for entry in first["children"]] == ["summary"]
    assert [entry["node_kind"] for entry in second["children"]] == ["leaf"]
    assert second["next_cursor"] is None


@pytest.mark.parametrize("cursor", ["x", "MTA:1abc:xyz"])
def test_a_foreign_cursor_is_refused(tree: MemoryMaker, cursor: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        look(tree.workspace, path="interaction", cursor=cursor)

    assert refused.value.field == "cursor"


@pytest.mark.parametrize("path", ["people", "interaction/nothing", "/etc/passwd", "../.."])
def test_a_place_that_is_not_there_is_not_found(tree: MemoryMaker, path: str) -> None:
    with pytest.raises(NotFound):
        look(tree.workspace, path=path)


def test_private_trees_and_other_workspaces_are_not_there(
    tree: MemoryMaker, tenant: Tenant
) -> None:
    alice = tree.end_user("alice")
    private = tree.leaf("Alice's secret.", tree=tree.tree("Alice", scope_id=alice))
    other = create_workspace(tenant, slug=f"o-{new_id().hex}", name="Other")

    for workspace, scopes in ((tree.workspace, None), (other, "*")):
        with pytest.raises(NotFound):
            look(workspace, scopes, node_id=str(private.id))
    seen = look(tree.workspace, (tree.workspace.pk, alice), node_id=str(private.id))
    assert seen["node"]["body"] == "Alice's secret."


def test_an_erased_leaf_is_not_there(tree: MemoryMaker) -> None:
    leaf = tree.leaf("Forget this.", status="erasing")

    with pytest.raises(NotFound):
        look(tree.workspace, node_id=str(leaf.id))
