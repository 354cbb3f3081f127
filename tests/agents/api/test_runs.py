"""Runs and approvals over the API, without a runner."""

from typing import Any

import pytest

from agents.models.runs import Approval
from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.agents.replies import Conversation, talk
from tests.api.client import Side, caller_for, codes, new_side
from tests.verification import assert_clean

SAVE = {"action": "save", "name": "plan", "content": "Ship on Friday.", "summary": "The date"}


@pytest.fixture
def side(django_db_setup: None) -> Side:
    return new_side()


def started(side: Side, content: str = "你好", **body: Any) -> dict[str, Any]:
    session = side.caller.post(f"{side.base}/sessions", {}).json()
    answer = side.caller.post(
        f"{side.base}/sessions/{session['session_id']}/runs", {"content": content, **body}
    )
    assert answer.status_code == 202, answer.content
    return dict(answer.json())


def waiting(side: Side, *calls: dict[str, Any]) -> tuple[Conversation, str]:
    """A run that waits, and the address of its approval."""
    talking = talk(side.workspace)
    talking.reply(*[("memory_write", call) for call in calls or (SAVE,)])
    assert isinstance(talking.approval, Approval)
    return talking, f"{side.base}/approvals/{talking.approval.id}"


def test_a_sentence_becomes_a_run_that_is_read_cancelled_and_tried_again(side: Side) -> None:
    run = started(side)
    address = f"{side.base}/runs/{run['run_id']}"
    assert (run["status"], run["agent"], run["input_mode"]) == ("queued", "default", "queue")
    assert side.caller.get(address).json() == {**run, "tool_calls": []}
    early = side.caller.post(f"{address}:retry")
    assert (early.status_code, codes(early)) == (409, {"": "conflict"})
    assert side.caller.post(f"{address}:continue").status_code == 202
    cancelled = side.caller.post(f"{address}:cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelled")
    assert side.caller.post(f"{address}:cancel").status_code == 202
    assert side.caller.post(f"{address}:continue").status_code == 409
    again = side.caller.post(f"{address}:retry")
    assert (again.status_code, again.json()["retry_of"]) == (202, run["run_id"])
    listed = side.caller.get(f"{side.base}/sessions/{run['session_id']}/runs").json()["results"]
    assert [row["run_id"] for row in listed] == [again.json()["run_id"], run["run_id"]]
    assert_clean(side.workspace)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {"content": "required"}),
        ({"content": "  "}, {"content": "blank"}),
        ({"content": 5}, {"content": "invalid_type"}),
        ({"content": "x" * 200_001}, {"content": "max_length"}),
        ({"content": "x", "input_mode": "now"}, {"input_mode": "invalid_choice"}),
        ({"content": "x", "tools": []}, {"tools": "unknown_field"}),
    ],
)
def test_a_wrong_run_is_refused_by_field(
    body: dict[str, Any], expected: dict[str, str], side: Side
) -> None:
    session = side.caller.post(f"{side.base}/sessions", {}).json()["session_id"]
    answer = side.caller.post(f"{side.base}/sessions/{session}/runs", body)
    assert (answer.status_code, codes(answer)) == (400, expected)


def test_a_start_with_the_same_idempotency_key_is_one_run(side: Side) -> None:
    session = side.caller.post(f"{side.base}/sessions", {}).json()["session_id"]
    address, body = f"{side.base}/sessions/{session}/runs", {"content": "Once."}
    first = side.caller.post(address, body, Idempotency_Key="one")
    again = side.caller.post(address, body, Idempotency_Key="one")
    other = side.caller.post(address, {"content": "Else."}, Idempotency_Key="one")
    assert first.json() == again.json()
    assert (again["Idempotent-Replayed"], other.status_code) == ("true", 422)
    assert len(side.caller.get(address).json()["results"]) == 1


def test_an_approval_shows_its_calls_and_is_decided_once(side: Side) -> None:
    talking, address = waiting(side)
    shown = side.caller.get(address).json()
    [call] = shown["tool_calls"]
    assert (shown["status"], call["name"], call["arguments"]) == ("pending", "memory_write", SAVE)
    listed = side.caller.get(f"{side.base}/approvals?status=pending").json()["results"]
    assert [row["approval_id"] for row in listed] == [str(talking.approval.id)]  # type: ignore[union-attr]
    assert listed[0]["tool_calls"] == [{**call, "arguments_cut": False}]
    stuck = side.caller.post(f"{side.base}/runs/{talking.run.id}:continue")
    assert (stuck.status_code, codes(stuck)) == (409, {"": "conflict"})
    yes = {"decisions": [{"tool_call_id": call["tool_call_id"], "status": "approved"}]}
    no = {"decisions": [{**yes["decisions"][0], "status": "denied", "reason": "不行"}]}
    decided = side.caller.post(f"{address}:decide", yes)
    assert (decided.status_code, decided.json()["status"]) == (200, "approved")
    assert decided.json()["tool_calls"][0]["status"] == "approved"
    assert side.caller.post(f"{address}:decide", yes).json() == decided.json()
    other = side.caller.post(f"{address}:decide", no)
    assert (other.status_code, codes(other)) == (409, {"": "already_decided"})
    run = side.caller.get(f"{side.base}/runs/{talking.run.id}").json()
    assert (run["status"], len(run["tool_calls"])) == ("running", 1)
    assert_clean(side.workspace)


def test_a_list_of_approvals_cuts_long_arguments_and_says_so(side: Side) -> None:
    long = {**SAVE, "content": "长" * 5_000}
    _, address = waiting(side, SAVE, long)
    [listed] = side.caller.get(f"{side.base}/approvals").json()["results"]
    first, second = listed["tool_calls"]
    assert (first["arguments"], first["arguments_cut"]) == (SAVE, False)
    assert second["arguments"]["content"] == "长" * 2_000 + "…"
    assert second["arguments_cut"] is True
    assert side.caller.get(address).json()["tool_calls"][1]["arguments"] == long


def test_a_decision_on_some_calls_or_on_strange_ones_is_refused_by_field(side: Side) -> None:
    _, address = waiting(side, SAVE, {**SAVE, "name": "other"})
    first, second = side.caller.get(address).json()["tool_call_ids"]
    one = {"tool_call_id": first, "status": "approved"}
    two = {"tool_call_id": second, "status": "approved"}
    for decisions, expected in (
        ([one], {"decisions": "incomplete"}),
        ([one, one], {"decisions[1].tool_call_id": "doubled"}),
        ([one, {**one, "tool_call_id": first[:-4] + "0000"}], None),
        ([one, {**two, "status": "maybe"}], {"decisions[1].status": "invalid_choice"}),
        ([one, {**two, "reason": "a\u0000"}], None),
        ("all", {"decisions": "invalid_type"}),
    ):
        answer = side.caller.post(f"{address}:decide", {"decisions": decisions})
        assert answer.status_code == 400, decisions
        assert expected is None or codes(answer) == expected
    assert side.caller.get(address).json()["status"] == "pending"


def test_the_key_that_started_a_run_cannot_approve_what_it_asks_for(side: Side) -> None:
    own = caller_for(side.tenant, permissions=["memory:read", "memory:write", "agents:run"])
    session = own.post(f"{side.base}/sessions", {}).json()["session_id"]
    run_id = own.post(f"{side.base}/sessions/{session}/runs", {"content": "Save it."}).json()
    talking, address = waiting(side)
    with workspace_scope(side.workspace, ALL_SCOPES):
        started_by = side.workspace.runs.get(id=run_id["run_id"]).started_by
        side.workspace.runs.filter(id=talking.run.id).update(started_by=started_by)
    call = side.caller.get(address).json()["tool_call_ids"][0]
    body = {"decisions": [{"tool_call_id": call, "status": "approved"}]}
    refused = own.post(f"{address}:decide", body)
    assert (refused.status_code, codes(refused)) == (403, {"": "permission_denied"})
    assert side.caller.post(f"{address}:decide", body).status_code == 200
