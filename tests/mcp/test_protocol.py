"""Messages of the protocol against tools that are none: no server, no database."""

from collections.abc import Mapping
from typing import Any

import pytest
from mcp_types import methods
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from retrieval.mcp.protocol import HANDSHAKE_VERSIONS, VERSIONS, UnknownTool, answer_message


class Echo:
    def listed(self) -> list[dict[str, Any]]:
        return [{"name": "echo", "inputSchema": {"type": "object"}}]

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if name != "echo":
            raise UnknownTool
        return {"content": [{"type": "text", "text": str(dict(arguments))}], "isError": False}


def ask(method: str, params: Any = None, **values: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, **values}
    return answer_message(
        message if params is None else {**message, "params": params}, toolbox=Echo()
    )


def test_every_version_of_the_official_package_is_spoken() -> None:
    assert VERSIONS == KNOWN_PROTOCOL_VERSIONS


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "initialize"])
@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_answers_have_the_official_shape_of_each_version(method: str, version: str) -> None:
    result = ask(method, {"protocolVersion": version, "name": "echo", "arguments": {}})["result"]
    assert methods.parse_server_result(method, version, result)


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "server/discover"])
def test_answers_have_the_official_shape_without_a_handshake(method: str) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    result = ask(method, {"_meta": meta, "name": "echo"})["result"]
    assert methods.parse_server_result(method, "2026-07-28", result)


def test_the_tools_are_listed_without_a_handshake() -> None:
    assert [tool["name"] for tool in ask("tools/list")["result"]["tools"]] == ["echo"]


def test_a_version_that_nobody_knows_is_answered_with_the_newest_of_the_handshake() -> None:
    assert (
        ask("initialize", {"protocolVersion": "1999-01-01"})["result"]["protocolVersion"]
        == (HANDSHAKE_VERSIONS[-1])
    )


def test_a_request_of_an_unknown_version_is_refused_with_the_known_ones() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    error = ask("tools/list", {"_meta": meta})["error"]
    assert (error["code"], error["data"]["supported"]) == (-32022, list(VERSIONS))


def test_a_notification_gets_no_answer() -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert answer_message(message, toolbox=Echo()) is None


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({}, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": "\ud800", "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": []}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "rm"}}, -32602),
        (
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "echo", "arguments": [1]},
            },
            -32602,
        ),
    ],
)
def test_what_is_no_proper_request_is_an_error_of_the_protocol(message: Any, code: int) -> None:
    answer = answer_message(message, toolbox=Echo())
    assert answer is not None
    assert answer["error"]["code"] == code
