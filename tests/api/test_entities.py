"""One entity over the API: look, change names, merge, undo."""

from typing import Any

import pytest

from tests.api.client import Side, caller_for, codes, new_side
from tests.verification import assert_clean
from tests.workspaces.entities import (
    ATLAS,
    ATLAS_TEXTS,
    BOREALIS,
    BOREALIS_TEXTS,
    PAYMENT,
    SETTLEMENT,
    remember_gateways,
    remember_platforms,
)
from tests.workspaces.memory import drain


@pytest.fixture
def gateways() -> Side:
    side = new_side()
    remember_gateways(side.workspace)
    return side


def address(side: Side, slug: str) -> str:
    return f"{side.base}/entities/{slug}"


def patch(side: Side, slug: str, body: dict[str, Any], query: str = "") -> Any:
    return side.caller.send("PATCH", f"{address(side, slug)}{query}", body)


def merge(side: Side, slug: str, into: str) -> Any:
    return side.caller.post(f"{address(side, slug)}:merge", {"into": into})


def shown(side: Side, slug: str, query: str = "") -> dict[str, Any]:
    response = side.caller.get(f"{address(side, slug)}{query}")
    assert response.status_code == 200, response.content
    body: dict[str, Any] = response.json()
    return body


def settle(side: Side) -> None:
    drain(side.workspace)
    assert_clean(side.workspace)


def test_an_entity_shows_its_names_its_tree_and_what_it_holds(gateways: Side) -> None:
    body = shown(gateways, BOREALIS)
    assert (body["slug"], body["name"], body["aliases"]) == (BOREALIS, "Borealis gateway", [])
    assert (body["tree_key"], body["leaf_count"]) == (f"interaction:{BOREALIS}", 3)
    assert (body["mentions"], body["superseded_count"]) == (1, 0)
    assert (body["merged_into"], body["merged_from"], body["merge"]) == (None, [], None)


def test_names_and_aliases_are_changed(gateways: Side) -> None:
    response = patch(gateways, BOREALIS, {"name": "Polar gateway", "aliases": ["Northgate"]})
    assert response.status_code == 200, response.content
    assert response.json()["name"] == "Polar gateway"
    assert response.json()["aliases"] == ["Borealis gateway", "Northgate"]
    assert response.json() == shown(gateways, BOREALIS)
    tree = gateways.caller.get(f"{gateways.base}/trees/interaction:{BOREALIS}").json()
    assert tree["title"] == "Polar gateway"
    settle(gateways)


def test_chinese_names_are_changed_too() -> None:
    side = new_side()
    remember_platforms(side.workspace)
    response = patch(side, PAYMENT, {"name": "收银网关", "description": "线上收款。"})
    assert response.json()["aliases"] == ["支付网关"]
    assert response.json()["description"] == "线上收款。"
    taken = patch(side, SETTLEMENT, {"name": "支付 网关"})
    assert taken.status_code == 409
    assert codes(taken) == {"name": "name_taken"}
    assert PAYMENT in taken.json()["detail"]
    settle(side)


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"name": "Gateway"}, "name", "unusable_name"),
        ({"name": "  "}, "name", "blank"),
        ({"name": 5}, "name", "invalid_type"),
        ({"name": "a\u202eb"}, "name", "control_character"),
        ({"name": "A" * 121}, "name", "max_length"),
        ({"aliases": "Northgate"}, "aliases", "invalid_type"),
        ({"aliases": ["Northgate", "TBD"]}, "aliases", "unusable_name"),
        ({"aliases": [f"Gate {n}" for n in range(101)]}, "aliases", "max_length"),
        ({"description": None}, "description", "null"),
        ({"description": "x" * 2001}, "description", "max_length"),
        ({"slug": "polar"}, "slug", "unknown_field"),
    ],
)
def test_what_is_no_name_is_refused_by_field(
    shared: Side, body: dict[str, Any], field: str, code: str
) -> None:
    before = shown(shared, BOREALIS)
    response = patch(shared, BOREALIS, body)
    assert response.status_code == 400
    assert codes(response) == {field: code}
    assert shown(shared, BOREALIS) == before


@pytest.fixture(scope="module")
def shared(django_db_setup: None) -> Side:
    """For what is refused: nothing in it ever changes."""
    side = new_side()
    remember_gateways(side.workspace)
    return side


def test_a_merge_is_accepted_shown_and_taken_back(gateways: Side) -> None:
    response = merge(gateways, BOREALIS, ATLAS)
    assert response.status_code == 202, response.content
    begun = response.json()
    assert begun["merged_into"] == ATLAS
    assert (begun["merge"]["state"], begun["merge"]["leaves_total"]) == ("moving", 3)
    assert merge(gateways, BOREALIS, ATLAS).json()["merge"] == begun["merge"]
    settle(gateways)
    done = shown(gateways, BOREALIS)
    assert (done["merge"]["state"], done["merge"]["leaves_done"]) == ("done", 3)
    assert done["leaf_count"] == 0
    target = shown(gateways, ATLAS)
    assert target["leaf_count"] == len(ATLAS_TEXTS) + len(BOREALIS_TEXTS)
    assert (target["aliases"], target["merged_from"]) == (["Borealis gateway"], [BOREALIS])
    listed = gateways.caller.get(f"{gateways.base}/entities").json()["results"]
    assert BOREALIS not in {row["slug"] for row in listed}
    undone = gateways.caller.post(f"{gateways.base}/audit/{done['merge']['audit_id']}:undo")
    assert undone.status_code == 200, undone.content
    settle(gateways)
    back = shown(gateways, BOREALIS)
    assert (back["merged_into"], back["leaf_count"], back["merge"]["state"]) == (None, 3, "undone")


@pytest.mark.parametrize(
    ("into", "status", "field", "code"),
    [
        ("nobody", 400, "into", "unknown_entity"),
        (BOREALIS, 409, "into", "same_entity"),
        (7, 400, "into", "invalid_type"),
        ("", 400, "into", "blank"),
    ],
)
def test_a_merge_into_what_cannot_be_is_refused(
    shared: Side, into: Any, status: int, field: str, code: str
) -> None:
    response = merge(shared, BOREALIS, into)
    assert response.status_code == status
    assert codes(response) == {field: code}


def test_a_merged_entity_says_where_it_went(gateways: Side) -> None:
    merge(gateways, BOREALIS, ATLAS)
    refused = patch(gateways, BOREALIS, {"name": "Polar gateway"})
    assert refused.status_code == 409
    assert codes(refused) == {"": "merged"}
    assert ATLAS in refused.json()["detail"]
    settle(gateways)


def test_an_unknown_slug_is_a_404_before_the_body_is_read(shared: Side) -> None:
    for method, path in (("GET", ""), ("PATCH", ""), ("POST", ":merge")):
        response = shared.caller.send(method, f"{address(shared, 'nobody')}{path}", raw=b"{")
        assert response.status_code == 404


def test_only_the_entity_of_the_selected_end_user_is_changed() -> None:
    side = new_side()
    remember_gateways(side.workspace)
    remember_gateways(side.workspace, user_id="ann")
    changed = patch(side, BOREALIS, {"name": "Polar gateway"}, "?user_id=ann")
    assert (changed.status_code, changed.json()["user_id"]) == (200, "ann")
    assert shown(side, BOREALIS)["name"] == "Borealis gateway"
    assert shown(side, BOREALIS, "?user_id=ann")["name"] == "Polar gateway"
    for query in ("?user_id=ben", "?user_id=%2A"):
        refused = patch(side, BOREALIS, {"name": "Arctic gateway"}, query)
        assert refused.status_code in (400, 404)
    settle(side)


def test_a_key_of_one_end_user_reads_shared_entities_and_leaves_them(gateways: Side) -> None:
    from holamem.database.scope import workspace_scope

    with workspace_scope(gateways.workspace):
        ben = gateways.workspace.end_users.create(ref="ben", slug="ben")
    bound = caller_for(gateways.tenant, workspace=gateways.workspace, end_user=ben)
    assert bound.get(address(gateways, BOREALIS)).status_code == 200
    renamed = bound.send("PATCH", address(gateways, BOREALIS), {"name": "Mine"})
    assert renamed.status_code == 404
    assert bound.post(f"{address(gateways, BOREALIS)}:merge", {"into": ATLAS}).status_code == 404


def test_the_bucket_of_leftovers_stays_as_it_is(gateways: Side) -> None:
    from tests.workspaces.memory import draft, remember

    remember(gateways.workspace, draft("The printer is out of toner again.", minutes=30))
    for body in ({"name": "Leftovers"}, {"aliases": ["Leftovers"]}):
        assert patch(gateways, "uncategorized", body).status_code == 409
    assert merge(gateways, "uncategorized", ATLAS).status_code == 409
    assert merge(gateways, ATLAS, "uncategorized").status_code == 409
