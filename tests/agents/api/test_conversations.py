"""Agents, sessions and messages over the API."""

from typing import Any
from uuid import uuid4

import pytest

from tests.api.client import Side, caller_for, codes, new_side
from tests.verification import assert_clean
from tests.workspaces.memory import principal_of
from workspaces.services.end_user_view import find_end_user


@pytest.fixture(scope="module")
def side(django_db_setup: None) -> Side:
    return new_side()


def new_session(side: Side, **body: Any) -> dict[str, Any]:
    answer = side.caller.post(f"{side.base}/sessions", body)
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def test_an_agent_is_made_changed_and_put_away(side: Side) -> None:
    body = {"slug": "tutor", "system_prompt": "教数学。", "tools": ["ping"], "cost": 0.5}
    made = side.caller.post(f"{side.base}/agents", body)
    assert (made.status_code, made.json()["mode"]) == (201, "assist")
    assert made.json() | body == made.json()
    address = f"{side.base}/agents/tutor"
    changed = side.caller.send("PATCH", address, {"mode": "observe", "cost": None}).json()
    assert (changed["mode"], changed["cost"], changed["tools"]) == ("observe", None, ["ping"])
    slugs = [row["slug"] for row in side.caller.get(f"{side.base}/agents").json()["results"]]
    assert slugs == ["default", "tutor"]
    assert side.caller.send("PATCH", address, {"archived": True}).json()["archived_at"]
    assert len(side.caller.get(f"{side.base}/agents").json()["results"]) == 1
    assert len(side.caller.get(f"{side.base}/agents?archived=true").json()["results"]) == 2
    assert side.caller.post(f"{side.base}/agents", body).status_code == 409


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {"slug": "required"}),
        ({"slug": "Not A Slug"}, {"slug": "invalid"}),
        ({"slug": "a", "mode": "bold"}, {"mode": "invalid_choice"}),
        ({"slug": "a", "tools": ["rm"]}, {"tools[0]": "invalid_choice"}),
        ({"slug": "a", "context_tokens": 1}, {"context_tokens": "min_value"}),
        ({"slug": "a", "cost": True}, {"cost": "invalid_type"}),
        ({"slug": "a", "cost": 0}, {"cost": "min_value"}),
        ({"slug": "a", "cost": 10**6}, {"cost": "max_value"}),
        ({"slug": "a", "secret": 1}, {"secret": "unknown_field"}),
    ],
)
def test_a_wrong_agent_is_refused_by_field(
    body: dict[str, Any], expected: dict[str, str], side: Side
) -> None:
    answer = side.caller.post(f"{side.base}/agents", body)
    assert (answer.status_code, codes(answer)) == (400, expected)


def test_a_session_is_begun_renamed_and_put_away(side: Side) -> None:
    made = new_session(side, user_id="小明", title="代数", agent="no-such-agent")
    assert (made["user_id"], made["agent"], made["status"]) == ("小明", "default", "active")
    assert (made["last_event_seq"], made["active_run_id"]) == (0, None)
    address = f"{side.base}/sessions/{made['session_id']}"
    assert side.caller.get(address).json() == made
    renamed = side.caller.send("PATCH", address, {"title": "Algebra"})
    assert (renamed.status_code, renamed.json()["title"]) == (200, "Algebra")
    archived = side.caller.post(f"{address}:archive")
    assert (archived.status_code, archived.json()["status"]) == (200, "archived")
    refused = side.caller.post(f"{address}/runs", {"content": "Hello"})
    assert (refused.status_code, codes(refused)) == (409, {"": "conflict"})


def test_sessions_are_listed_by_whose_they_are() -> None:
    side = new_side()
    [nobodys, anas, bens] = [
        new_session(side, **body)["session_id"]
        for body in ({}, {"user_id": "ana"}, {"user_id": "ben"})
    ]

    def listed(query: str) -> list[str]:
        answer = side.caller.get(f"{side.base}/sessions{query}")
        return [row["session_id"] for row in answer.json()["results"]]

    assert listed("") == [nobodys]
    assert listed("?user_id=ana") == [anas]
    assert listed("?user_id=*") == [bens, anas, nobodys]
    assert listed("?user_id=*&status=archived") == []
    assert listed("?user_id=nobody") == []
    few = caller_for(side.tenant, permissions=["memory:read"])
    assert few.get(f"{side.base}/sessions?user_id=*").status_code == 403


def test_messages_are_read_newest_first_with_the_event_they_count_to(side: Side) -> None:
    session = new_session(side)
    address = f"{side.base}/sessions/{session['session_id']}/messages"
    said = [
        side.caller.post(address, {"role": role, "content": content})
        for role, content in [("user", "一"), ("assistant", "two"), ("user", "three")]
    ]
    assert [answer.status_code for answer in said] == [201] * 3
    first = side.caller.get(f"{address}?limit=2").json()
    assert [row["content"] for row in first["results"]] == ["three", "two"]
    assert first["as_of_event_seq"] == 3
    second = side.caller.get(first["next"].partition("/api/v1/")[2]).json()
    assert [row["content"] for row in second["results"]] == ["一"]
    back = side.caller.get(second["previous"].partition("/api/v1/")[2]).json()
    assert back["results"] == first["results"]
    gone = side.caller.send("DELETE", f"{address}/{said[1].json()['message_id']}")
    assert gone.status_code == 204
    left = side.caller.get(address).json()
    assert [row["content"] for row in left["results"]] == ["three", "一"]
    assert left["as_of_event_seq"] == 4
    assert_clean(side.workspace)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"role": "system", "content": "x"}, {"role": "invalid_choice"}),
        ({"role": "tool", "content": "x"}, {"role": "invalid_choice"}),
        ({"role": "user", "content": " "}, {"content": "blank"}),
        ({"role": "user"}, {"content": "required"}),
    ],
)
def test_a_wrong_message_is_refused_by_field(
    body: dict[str, Any], expected: dict[str, str], side: Side
) -> None:
    address = f"{side.base}/sessions/{new_session(side)['session_id']}/messages"
    answer = side.caller.post(address, body)
    assert (answer.status_code, codes(answer)) == (400, expected)


def test_one_end_users_key_sees_that_ones_sessions_alone() -> None:
    side = new_side()
    anas, nobodys = new_session(side, user_id="ana"), new_session(side)
    bens = new_session(side, user_id="ben")
    user = find_end_user(side.workspace, principal=principal_of(side.workspace), ref="ben")
    ben = caller_for(side.tenant, workspace=side.workspace, end_user=user)
    assert ben.get(f"{side.base}/sessions/{bens['session_id']}").status_code == 200
    for other in (anas, nobodys, {"session_id": str(uuid4())}):
        for path in ("", "/messages", "/runs", "/events"):
            answer = ben.get(f"{side.base}/sessions/{other['session_id']}{path}")
            assert answer.status_code == 404, path
    assert [row["session_id"] for row in ben.get(f"{side.base}/sessions").json()["results"]] == [
        bens["session_id"]
    ]
    own = ben.post(f"{side.base}/sessions", {})
    assert (own.status_code, own.json()["user_id"]) == (201, "ben")
    assert ben.post(f"{side.base}/sessions", {"user_id": "ana"}).status_code == 404
