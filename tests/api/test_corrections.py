"""Correct, forget, restore and move over HTTP; the audit log, and undo."""

from typing import Any
from uuid import uuid4

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.api.client import Caller, Side, caller_for, codes, new_side
from tests.workspaces.corrections import remember_all
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember

MARA = "Mara Lindqvist is on call this week."


@pytest.fixture
def leaf(side: Side) -> str:
    return str(remember_all(side.workspace, ATLAS_FACTS[0])[0])


def change(side: Side, leaf_id: str, verb: str, body: Any = None) -> Any:
    return side.caller.post(f"{side.base}/leaves/{leaf_id}:{verb}", body)


def test_a_correction_answers_with_both_leaves(side: Side, leaf: str) -> None:
    response = change(side, leaf, "correct", {"text": "The Atlas gateway listens on port 9443."})
    assert response.status_code == 200
    made = response.json()
    assert made["replaces"] == leaf
    shown = side.caller.get(f"{side.base}/leaves/{made['leaf_id']}").json()
    assert (shown["status"], shown["body"]) == (
        "active",
        "The Atlas gateway listens on port 9443.",
    )
    history = side.caller.get(f"{side.base}/leaves/{leaf}/history").json()["results"]
    assert [version["status"] for version in history] == ["active", "superseded"]


def test_the_second_correction_of_one_leaf_names_the_current_one(side: Side, leaf: str) -> None:
    made = change(side, leaf, "correct", {"text": "支付网关监听九四四三端口。"}).json()
    response = change(side, leaf, "correct", {"text": "The port is 7443."})
    assert response.status_code == 409
    assert codes(response) == {"": "leaf_superseded"}
    assert made["leaf_id"] in response.json()["detail"]


@pytest.mark.parametrize(
    ("verb", "body", "problems"),
    [
        ("correct", {}, {"text": "required"}),
        ("correct", {"text": " "}, {"text": "blank"}),
        ("correct", {"text": 7}, {"text": "invalid_type"}),
        ("correct", {"text": "x" * 2_001}, {"text": "max_length"}),
        ("correct", {"text": "x", "why": "y"}, {"why": "unknown_field"}),
        ("forget", {"why": "y"}, {"why": "unknown_parameter"}),
        ("move", {}, {"entity": "invalid"}),
        (
            "move",
            {"entity": "a", "new_entity": {"name": "Mars", "type": "topic"}},
            {"entity": "invalid"},
        ),
        (
            "move",
            {"new_entity": {"name": "Mars", "type": "planet"}},
            {"new_entity.type": "invalid_choice"},
        ),
        ("move", {"new_entity": {"name": "it", "type": "topic"}}, {"new_entity.name": "invalid"}),
    ],
)
def test_bad_input_names_its_field(
    side: Side, leaf: str, verb: str, body: Any, problems: dict[str, str]
) -> None:
    response = change(side, leaf, verb, body)
    assert response.status_code == 400
    assert codes(response) == problems


def test_a_forgotten_leaf_keeps_its_place_and_shows_no_words(side: Side, leaf: str) -> None:
    response = change(side, leaf, "forget")
    assert response.status_code == 200
    shown = side.caller.get(f"{side.base}/leaves/{leaf}").json()
    assert (shown["status"], shown["body"], shown["body_problem"]) == (
        "inactive",
        None,
        "forgotten",
    )
    assert "port 8443" not in str(shown)
    assert change(side, leaf, "forget").status_code == 409
    assert change(side, leaf, "restore").status_code == 200
    assert "8443" in side.caller.get(f"{side.base}/leaves/{leaf}").json()["body"]
    assert change(side, leaf, "restore").status_code == 409


def test_summaries_of_a_forgotten_leaf_are_never_shown_again(side: Side) -> None:
    ids = remember_all(side.workspace, *ATLAS_FACTS[:8])
    with workspace_scope(side.workspace):
        [summary] = side.workspace.summaries.all()
    address = f"{side.base}/summaries/{summary.id}"
    assert side.caller.get(address).status_code == 200
    change(side, str(ids[1]), "forget")
    assert side.caller.get(address).status_code == 404
    drain(side.workspace)
    assert side.caller.get(address).status_code == 404
    question = {"query": "Where is the access log of the Atlas gateway?"}
    answer = side.caller.post(f"{side.base}/memory/retrieve", question).json()
    assert "access.log" not in str({**answer, "query": ""})


def test_a_leaf_moves_to_a_known_and_to_a_new_entity(side: Side, leaf: str) -> None:
    response = change(side, leaf, "move", {"new_entity": {"name": "边缘路由器", "type": "system"}})
    assert response.status_code == 200
    moved = response.json()
    assert (moved["moved_from"], moved["is_linked"]) == (leaf, False)
    back = change(side, moved["leaf_id"], "move", {"entity": "atlas-gateway"})
    assert back.status_code == 200
    assert back.json()["tree_key"] == "interaction:atlas-gateway"
    missing = change(side, back.json()["leaf_id"], "move", {"entity": "nobody"})
    assert (missing.status_code, codes(missing)) == (404, {"entity": "not_found"})


def test_changes_are_listed_and_taken_back_once(side: Side, leaf: str) -> None:
    made = change(side, leaf, "correct", {"text": "The Atlas gateway listens on port 9443."}).json()
    address = f"{side.base}/audit/{made['audit_id']}:undo"
    undone = side.caller.post(address)
    assert undone.status_code == 200
    assert undone.json()["undoes"] == made["audit_id"]
    again = side.caller.post(address)
    assert (again.status_code, codes(again)) == (409, {"": "already_undone"})

    newest, first = side.caller.get(f"{side.base}/audit").json()["results"]
    assert (first["action"], first["undone_by"]) == ("leaf.corrected", newest["audit_id"])
    assert (newest["action"], newest["undoes"]) == ("leaf.corrected.undone", first["audit_id"])
    assert first["actor"] == "key:test key"
    assert "port 9443" not in str([newest, first])


def test_the_audit_log_is_read_page_by_page(side: Side, leaf: str) -> None:
    for verb in ("forget", "restore", "forget"):
        assert change(side, leaf, verb).status_code == 200
    page = side.caller.get(f"{side.base}/audit?limit=2").json()
    assert [entry["action"] for entry in page["results"]] == ["leaf.forgotten", "leaf.restored"]
    rest = side.caller.get(page["next"].removeprefix("http://testserver")).json()
    assert [entry["action"] for entry in rest["results"]] == ["leaf.forgotten"]
    assert rest["next"] is None
    only = side.caller.get(f"{side.base}/audit?action=leaf.restored").json()["results"]
    assert len(only) == 1


def test_one_end_users_key_changes_its_own_memory_only(side: Side) -> None:
    shared, own, other = remember(
        side.workspace,
        draft(ATLAS_FACTS[0]),
        draft(MARA, minutes=1, user_id="u-1"),
        draft(MARA, minutes=2, user_id="u-2"),
    )
    with workspace_scope(side.workspace, ALL_SCOPES):
        user = side.workspace.end_users.get(ref="u-1")
    bound = Side(
        side.tenant,
        side.workspace,
        caller_for(side.tenant, workspace=side.workspace, end_user=user),
    )
    mine, theirs, common = (str(result.chunks[0].leaf_id) for result in (own, other, shared))
    assert change(bound, mine, "forget").status_code == 200
    for leaf_id in (theirs, common, str(uuid4())):
        assert change(bound, leaf_id, "forget").status_code == 404
    for leaf_id in (theirs, common):
        assert change(side, leaf_id, "forget").status_code == 200
    seen = bound.caller.get(f"{bound.base}/audit").json()["results"]
    assert {entry["target"] for entry in seen} == {mine, common}
    entries = side.caller.get(f"{side.base}/audit").json()["results"]
    for entry in entries:
        if entry["target"] != mine:
            response = bound.caller.post(f"{bound.base}/audit/{entry['audit_id']}:undo")
            assert response.status_code == 404


def test_a_key_that_may_not_see_everyone_sees_the_shared_changes(side: Side) -> None:
    shared, own = remember(
        side.workspace, draft(ATLAS_FACTS[0]), draft(MARA, minutes=1, user_id="u-1")
    )
    for result in (shared, own):
        assert change(side, str(result.chunks[0].leaf_id), "forget").status_code == 200
    narrow = caller_for(side.tenant, permissions=["memory:read"])
    seen = narrow.get(f"{side.base}/audit").json()["results"]
    assert [entry["target"] for entry in seen] == [str(shared.chunks[0].leaf_id)]


def test_a_reader_changes_nothing(side: Side, leaf: str) -> None:
    reader = Side(side.tenant, side.workspace, caller_for(side.tenant, permissions=["memory:read"]))
    for verb, body in (
        ("correct", {"text": "Else."}),
        ("forget", None),
        ("restore", None),
        ("move", {"entity": "atlas-gateway"}),
    ):
        assert change(reader, leaf, verb, body).status_code == 403


def test_another_tenants_leaf_is_not_there(side: Side, leaf: str) -> None:
    stranger: Caller = new_side().caller
    response = stranger.post(f"{side.base}/leaves/{leaf}:forget")
    assert response.status_code == 404
