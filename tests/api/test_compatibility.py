"""The earlier contract: search, get, upsert, status, sync, with the workspace in the body."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from tests.api.client import Caller, Side, caller_for, codes, new_side
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, remember

HERE = {"workspace": "notes"}
NUT = "Mara is allergic to nuts."


@pytest.fixture(scope="module")
def filled(django_db_setup: None) -> Side:
    side = new_side()
    remember(
        side.workspace,
        draft("The Atlas gateway listens on port 8443."),
        draft(NUT, user_id="mara", minutes=1),
    )
    return side


def while_working(side: Side, ask: Callable[[], Any]) -> Any:
    """The answer to a request that waits for the worker."""
    answers: list[Any] = []

    def run() -> None:
        try:
            answers.append(ask())
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        drain(side.workspace)
        thread.join(timeout=0.05)
    return answers[0]


def test_what_is_upserted_is_found_and_read_by_its_path() -> None:
    side = new_side()
    post = side.caller.post
    body = {**HERE, "path": "memory/preferences.md", "append": False}
    first = while_working(
        side, lambda: post("memory/upsert", {**body, "content": "我喜欢喝咖啡。"})
    )
    assert first.status_code == 200, first.content
    assert (first.json()["updated"], first.json()["status"]) == (True, "processed")
    again = while_working(
        side, lambda: post("memory/upsert", {**body, "content": "我喜欢喝咖啡。"})
    )
    assert again.json()["event_id"] == first.json()["event_id"]
    newer = while_working(
        side, lambda: post("memory/upsert", {**body, "content": "The office is in Hangzhou."})
    )
    assert newer.json()["event_id"] != first.json()["event_id"]
    read = post("memory/get", {**HERE, "path": "memory/preferences.md"}).json()
    assert "Hangzhou" in read["text"]
    [hit, *_] = post("memory/search", {**HERE, "query": "我喜欢喝什么？"}).json()["hits"]
    assert "咖啡" in post("memory/get", {**HERE, "path": hit["path"]}).json()["text"]
    assert_clean(side.workspace)


def test_the_earlier_name_of_the_workspace_is_taken_too(filled: Side) -> None:
    found = filled.caller.post(
        "memory/search", {"workspace_id": "notes", "query": "Which port?", "max_results": 1}
    )
    assert len(found.json()["hits"]) == 1
    assert found.json()["workspace_id"] == "notes"
    both = filled.caller.post("memory/status", {"workspace_id": "notes", "workspace": "other"})
    assert codes(both) == {"workspace_id": "invalid"}


def test_a_score_leaves_out_what_is_below_it(filled: Side) -> None:
    question = {**HERE, "query": "Which port does the Atlas gateway use?"}
    [hit, *_] = filled.caller.post("memory/search", question).json()["hits"]
    above = {**question, "min_score": hit["score"] + 1}
    assert filled.caller.post("memory/search", above).json()["hits"] == []


def test_an_end_users_memory_needs_the_users_name(filled: Side) -> None:
    ask = {**HERE, "query": "What is Mara allergic to?"}
    private = filled.caller.post("memory/search", {**ask, "user_id": "mara"}).json()["hits"]
    [path] = [hit["path"] for hit in private if NUT in hit["text"]]
    assert NUT not in filled.caller.post("memory/search", ask).content.decode()
    assert filled.caller.post("memory/get", {**HERE, "path": path}).status_code == 404
    named = {**HERE, "path": path, "user_id": "mara"}
    assert NUT in filled.caller.post("memory/get", named).json()["text"]


def test_status_and_sync_tell_whether_work_is_left() -> None:
    side = new_side()
    assert side.caller.get("memory/status?workspace=notes").json()["synced"] is True
    side.caller.post(f"{side.base}/events", {"kind": "user_message", "text": "A lasting fact."})
    waiting = side.caller.post("memory/sync", {**HERE, "timeout_s": 1, "reason": "manual"}).json()
    assert (waiting["queued"], waiting["synced"], waiting["reason"]) == (True, False, "manual")
    done = while_working(side, lambda: side.caller.post("memory/sync", HERE)).json()
    assert (done["queued"], done["backlog"]["events"]) == (False, 0)
    assert side.caller.post("memory/status", HERE).json()["events"]["processed"] == 1


@pytest.mark.parametrize("route", ["search", "get", "upsert", "status", "sync"])
def test_a_foreign_workspace_is_the_same_as_none(filled: Side, route: str) -> None:
    needs: dict[str, Any] = {"search": {"query": "x"}, "get": {"path": "a"}}
    needs |= {"upsert": {"content": "x"}}
    body = needs.get(route, {})
    outsider = new_side("elsewhere").caller
    foreign = outsider.post(f"memory/{route}", {**body, "workspace": "notes"})
    absent = outsider.post(f"memory/{route}", {**body, "workspace": "nobodys"})
    assert foreign.status_code == absent.status_code == 404
    assert foreign.content == absent.content


def test_a_bound_key_needs_no_workspace_and_opens_no_other(filled: Side) -> None:
    bound = caller_for(filled.tenant, workspace=filled.workspace)
    assert bound.post("memory/search", {"query": "Which port?"}).json()["hits"]
    filled.caller.post("workspaces", {"slug": "second", "name": "Second"})
    assert bound.post("memory/status", {"workspace": "second"}).status_code == 404
    assert codes(filled.caller.post("memory/status", {})) == {"workspace": "required"}


@pytest.mark.parametrize(
    ("route", "body", "expected"),
    [
        ("search", {}, {"query": "required"}),
        ("search", {"query": "x", "max_results": 0}, {"max_results": "min_value"}),
        ("search", {"query": "x", "min_score": True}, {"min_score": "invalid"}),
        ("search", {"query": "x", "limit": 3}, {"limit": "unknown_field"}),
        ("get", {"path": ""}, {"path": "blank"}),
        ("upsert", {"content": " "}, {"content": "blank"}),
        ("upsert", {"content": "x", "kind": "tool_result"}, {"kind": "invalid_choice"}),
        ("upsert", {"content": "x", "path": "a\nb"}, {"path": "control_character"}),
        ("sync", {"timeout_s": 61}, {"timeout_s": "max_value"}),
    ],
)
def test_a_bad_body_names_the_field(
    filled: Side, route: str, body: dict[str, Any], expected: dict[str, str]
) -> None:
    assert codes(filled.caller.post(f"memory/{route}", {**HERE, **body})) == expected


@pytest.mark.parametrize("path", ["leaves/nothing", "summaries/" + "0" * 32, "a%", "../x", "_"])
def test_a_path_of_nothing_is_a_404(filled: Side, path: str) -> None:
    assert filled.caller.post("memory/get", {**HERE, "path": path}).status_code == 404


def test_an_idempotency_key_stores_one_memory(side: Side, api: Caller) -> None:
    body = {**HERE, "content": "A lasting fact."}
    first = while_working(side, lambda: api.post("memory/upsert", body, Idempotency_Key="k-1"))
    again = api.post("memory/upsert", body, Idempotency_Key="k-1")
    assert first.status_code == again.status_code == 200
    assert again["Idempotent-Replayed"] == "true"
    assert first.json()["event_id"] == again.json()["event_id"]
    other = api.post("memory/upsert", {**body, "content": "Another."}, Idempotency_Key="k-1")
    assert other.status_code == 422
