"""The tools over HTTP: what each kind of key sees, and what is said about bad arguments."""

import json
from typing import Any

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.http import rate_limit
from tests.api.client import Caller, Side, caller_for, new_side
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, remember
from workspaces.models.tenancy import EndUser
from workspaces.services.end_users import ensure_end_user

TOOL_NAMES = [
    "memory_retrieve", "memory_browse", "memory_remember", "memory_read", "memory_search"
]  # fmt: skip
FACT = "The Atlas gateway listens on port 8443."


@pytest.fixture(scope="module")
def side(django_db_setup: None) -> Side:
    side = new_side()
    remember(side.workspace, draft(FACT), draft("Mara is allergic to nuts.", user_id="mara"))
    return side


@pytest.fixture(scope="module")
def bound(side: Side) -> Caller:
    return caller_for(side.tenant, workspace=side.workspace)


@pytest.fixture(scope="module")
def maras(side: Side) -> Caller:
    with workspace_scope(side.workspace, ALL_SCOPES):
        user = EndUser.objects.get(id=ensure_end_user(side.workspace, ref="mara"))
    return caller_for(
        side.tenant,
        workspace=side.workspace,
        end_user=user,
        permissions=["memory:read", "memory:write"],
    )


def rpc(caller: Caller, method: str, params: Any = None, **headers: str) -> Any:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}
    return caller.post("/mcp", message, **headers)


def call(caller: Caller, tool: str, **arguments: Any) -> Any:
    return rpc(caller, "tools/call", {"name": tool, "arguments": arguments}).json()["result"]


def tools_of(caller: Caller) -> dict[str, Any]:
    listed = rpc(caller, "tools/list").json()["result"]["tools"]
    return {tool["name"]: tool["inputSchema"] for tool in listed}


def complaints(result: Any) -> dict[str, str]:
    assert result["isError"], result
    return {item["field"]: item["code"] for item in result["structuredContent"]["errors"]}


def test_a_key_of_the_tenant_names_a_workspace_and_a_bound_key_does_not(
    side: Side, bound: Caller
) -> None:
    tenants, bounds = tools_of(side.caller), tools_of(bound)
    assert list(tenants) == list(bounds) == TOOL_NAMES
    assert all("workspace" in schema["required"] for schema in tenants.values())
    assert all("workspace" not in schema["properties"] for schema in bounds.values())
    assert "query" in bounds["memory_retrieve"]["required"]
    assert "kind" not in bounds["memory_remember"]["required"]


def test_a_key_sees_the_tools_that_it_may_call(side: Side) -> None:
    reader = caller_for(side.tenant, permissions=["memory:read"])
    assert list(tools_of(reader)) == [n for n in TOOL_NAMES if n != "memory_remember"]
    refused = call(reader, "memory_remember", workspace="notes", text="x")
    assert complaints(refused) == {"": "permission_denied"}


def test_what_is_remembered_is_retrieved_and_browsed(side: Side, bound: Caller) -> None:
    told = call(bound, "memory_remember", text="贝拉负责雅典娜项目。", admission="accepted")
    assert told["structuredContent"]["status"] == "received"
    drain(side.workspace)
    found = call(bound, "memory_retrieve", query="谁负责雅典娜项目？")
    assert "贝拉" in found["structuredContent"]["prompt"]
    assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
    roots = call(bound, "memory_browse", depth=2)["structuredContent"]
    assert roots["children"]
    assert_clean(side.workspace)


def test_an_end_users_key_stays_with_its_user(side: Side, maras: Caller, bound: Caller) -> None:
    assert "user_id" not in tools_of(maras)["memory_retrieve"]["properties"]
    question = {"query": "Who is allergic to nuts?"}
    assert call(maras, "memory_retrieve", **question)["structuredContent"]["evidence"]
    assert "Mara" not in call(bound, "memory_retrieve", **question)["structuredContent"]["prompt"]
    for tool in ("memory_retrieve", "memory_remember"):
        other = call(maras, tool, query="x", text="x", user_id="someone-else")
        assert other["isError"]
    call(maras, "memory_remember", text="Mara cycles to work.", admission="accepted")
    drain(side.workspace)
    rides = {"query": "How does Mara get to work?"}
    private = call(bound, "memory_retrieve", user_id="mara", **rides)
    assert "cycles" in private["structuredContent"]["prompt"]
    assert "cycles" not in call(bound, "memory_retrieve", **rides)["structuredContent"]["prompt"]


def test_the_workspace_of_another_tenant_is_the_same_as_none(side: Side) -> None:
    stranger = new_side("elsewhere")
    foreign = call(stranger.caller, "memory_retrieve", workspace="notes", query="Atlas?")
    absent = call(stranger.caller, "memory_retrieve", workspace="nothing", query="Atlas?")
    assert complaints(foreign) == complaints(absent) == {"": "not_found"}
    assert foreign["content"] == absent["content"]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("memory_retrieve", {}, {"query": "required"}),
        ("memory_retrieve", {"query": 5}, {"query": "string_type"}),
        ("memory_retrieve", {"query": "x", "limit": 5}, {"limit": "unknown_field"}),
        ("memory_retrieve", {"query": "x", "workspace": "notes"}, {"workspace": "unknown_field"}),
        ("memory_retrieve", {"query": "a\x00b"}, {"query": "null_character"}),
        ("memory_retrieve", {"query": "\ud800"}, {"query": "lone_surrogate"}),
        ("memory_browse", {"depth": [1]}, {"depth": "invalid_type"}),
        ("memory_browse", {"depth": 99}, {"depth": "less_than_equal"}),
        ("memory_browse", {"else": 1}, {"else": "unknown_field"}),
        ("memory_remember", {"wait": None}, {"text": "required"}),
        ("memory_remember", {"text": "  "}, {"text": "blank"}),
        ("memory_remember", {"text": "x", "kind": "gossip"}, {"kind": "invalid_choice"}),
        ("memory_remember", {"text": "x", "wait": "perhaps"}, {"wait": "invalid_type"}),
        ("memory_remember", {"text": "x", "occurred_at": "May"}, {"occurred_at": "invalid_type"}),
    ],
)
def test_a_bad_argument_is_an_error_of_the_tool_that_names_it(
    bound: Caller, tool: str, arguments: Any, expected: dict[str, str]
) -> None:
    result = call(bound, tool, **arguments)
    assert complaints(result) == expected
    [name] = expected
    assert result["content"][0]["text"].startswith(f"{name}:")


@pytest.mark.parametrize("workspace", [None, 5, "", "no such", "../x", "\ud800"])
def test_a_workspace_that_is_none_is_an_error_of_the_tool(side: Side, workspace: Any) -> None:
    assert call(side.caller, "memory_retrieve", workspace=workspace, query="x")["isError"]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b" ", -32700),
        (b"{", -32700),
        (b"[]", -32600),
        (b'"x"', -32600),
        (b"\xff", -32700),
        (b'{"a": 1, "a": 2}', -32700),
        (b'{"a": ' * 50 + b"1" + b"}" * 50, -32700),
    ],
)
def test_garbage_is_an_error_of_the_protocol(bound: Caller, raw: bytes, code: int) -> None:
    response = bound.send("POST", "/mcp", raw=raw, Content_Type="application/json")
    assert response.status_code == 400
    assert response.json()["error"]["code"] == code


def test_only_a_valid_key_gets_in() -> None:
    for token in (None, "hm_0123456789_" + "0" * 64):
        assert rpc(Caller(token), "tools/list").status_code == 401


def test_a_call_that_comes_to_no_tool_is_counted_too(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    buckets = rate_limit.TokenBuckets(per_second=0.01, burst=2)
    monkeypatch.setattr(rate_limit, "_buckets", buckets)
    monkeypatch.setattr(rate_limit, "doors", rate_limit.ShutDoors())
    calls = [{"name": "nothing", "arguments": {}}, {"name": "memory_retrieve", "arguments": {}}]
    answers = [rpc(side.caller, "tools/call", params) for params in [*calls, *calls]]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429]


def test_headers_must_say_what_the_message_says(bound: Caller) -> None:
    assert rpc(bound, "ping", Mcp_Method="tools/list").json()["error"]["code"] == -32020
    assert rpc(bound, "ping", MCP_Protocol_Version="1999").json()["error"]["code"] == -32022


def test_a_page_of_another_origin_is_refused(bound: Caller) -> None:
    assert rpc(bound, "ping", Origin="https://evil.example").status_code == 403
    assert rpc(bound, "ping", Origin="http://localhost:3000").status_code == 200


def test_there_is_no_stream_to_open_and_no_session_to_end(bound: Caller) -> None:
    for method in ("GET", "DELETE"):
        assert bound.send(method, "/mcp").status_code == 405


def test_an_unknown_method_is_an_error_that_old_clients_survive(bound: Caller) -> None:
    assert rpc(bound, "prompts/list").status_code == 200
    assert rpc(bound, "prompts/list", MCP_Protocol_Version="2026-07-28").status_code == 404
