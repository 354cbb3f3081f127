"""The official client against our server, over HTTP and over standard input and output."""

import asyncio
import os
import sys
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from holamem.environment import PROJECT_DIR
from tests.api.client import Side, new_side
from tests.workspaces.memory import draft, remember

TOOLS = {
    "memory_retrieve", "memory_browse", "memory_remember", "memory_read", "memory_search"
}  # fmt: skip


@pytest.fixture(scope="module")
def sides(django_db_setup: None) -> list[Side]:
    """Two tenants whose workspaces have the same name and different memory."""
    pair = [new_side(), new_side()]
    for side, port in zip(pair, ("8443", "9117"), strict=True):
        remember(side.workspace, draft(f"The Atlas gateway listens on port {port}."))
    return pair


def over_http(url: str, side: Side, *, mode: str) -> Client:
    headers = {"Authorization": f"Bearer {side.caller.token}"}
    http_client = httpx2.AsyncClient(headers=headers, timeout=30)
    return Client(streamable_http_client(f"{url}/mcp", http_client=http_client), mode=mode)


async def ask(client: Client) -> tuple[set[str], Any]:
    async with client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        question = {"workspace": "notes", "query": "Which port does the Atlas gateway use?"}
        return tools, await client.call_tool("memory_retrieve", question)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_two_tenants_at_once_see_their_own(web_url: str, sides: list[Side], mode: str) -> None:
    async def both() -> list[tuple[set[str], Any]]:
        callers = [over_http(web_url, side, mode=mode) for side in sides for _ in range(2)]
        return await asyncio.gather(*(ask(client) for client in callers))

    answers = asyncio.run(both())
    for (tools, result), port in zip(answers, ["8443"] * 2 + ["9117"] * 2, strict=True):
        other = {"8443": "9117", "9117": "8443"}[port]
        assert tools == TOOLS
        assert not result.is_error
        assert port in result.structured_content["prompt"]
        assert f"port {other}" not in str(result)


def test_what_the_schemas_promise_is_what_comes(web_url: str, sides: list[Side]) -> None:
    """The client checks structured answers against the tool's output schema."""

    async def walk() -> list[Any]:
        async with over_http(web_url, sides[0], mode="auto") as client:
            await client.list_tools()
            browsed = await client.call_tool("memory_browse", {"workspace": "notes", "depth": 3})
            wrong = await client.call_tool("memory_remember", {"workspace": "notes"})
            return [browsed, wrong]

    browsed, wrong = asyncio.run(walk())
    assert browsed.structured_content["children"]
    assert wrong.is_error
    assert "text" in wrong.content[0].text


@pytest.mark.slow  # a process of its own
def test_the_same_over_standard_input_and_output(sides: list[Side]) -> None:
    async def over_stdio() -> tuple[set[str], Any]:
        server = StdioServerParameters(
            command=sys.executable,
            args=["manage.py", "mcp"],
            cwd=str(PROJECT_DIR),
            env={**os.environ, "HOLAMEM_API_KEY": str(sides[1].caller.token)},
        )
        return await ask(Client(server))

    tools, result = asyncio.run(over_stdio())
    assert tools == TOOLS
    assert "9117" in result.structured_content["prompt"]
    assert "port 8443" not in str(result)
