"""Connect: each snippet as the page shows it, run against a real server."""

import asyncio
import html
import json
import os
import re
import subprocess
import sys
from typing import Any

import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from holamem.environment import PROJECT_DIR
from tests.api.client import Side, new_side
from tests.dashboard.pages import page_of
from tests.dashboard.people import make_person, signed_in_client
from tests.verification import assert_clean
from tests.workspaces.memory import drain

SHOWN = re.compile(r'<h2 id="([\w-]+)">.*?</section>', re.DOTALL)
PRE = re.compile(r"<pre[^>]*><code>(.*?)</code></pre>", re.DOTALL)


def address(side: Side) -> str:
    return f"/w/{side.tenant.slug}/{side.workspace.slug}/connect/"


def snippets(page: str) -> dict[str, str]:
    """The last block of each section, as a person copies it."""
    return {
        found.group(1): html.unescape(PRE.findall(found.group(0))[-1])
        for found in SHOWN.finditer(page)
        if PRE.search(found.group(0))
    }


def shown_at(side: Side, url: str) -> dict[str, str]:
    client = signed_in_client(make_person(side.tenant))
    host = url.removeprefix("http://")
    return snippets(page_of(client.get(address(side), headers={"host": host})))


def run(side: Side, *command: str) -> str:
    key = str(side.caller.token)
    environment = {**os.environ, "HOLAMEM_API_KEY": key, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=PROJECT_DIR, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_curl_snippet_runs_and_ticks_both_steps_off(web_url: str) -> None:
    side = new_side()
    person = signed_in_client(make_person(side.tenant, role="viewer"))
    before = page_of(person.get(address(side)))
    assert before.count("awaited") == 2
    assert "hx-trigger" in before
    answers = run(side, "sh", "-c", shown_at(side, web_url)["curl"])
    assert "event_id" in answers
    assert "retrieval_pack" in answers
    drain(side.workspace)
    after = page_of(person.get(address(side)))
    assert after.count("arrived") == 2
    assert "hx-trigger" not in after
    assert_clean(side.workspace)


@pytest.mark.slow  # a Python of its own
def test_the_python_snippet_runs(web_url: str) -> None:
    side = new_side()
    program = shown_at(side, web_url)["python"].replace(", wait=True", "")
    assert "holamem-memory" in run(side, sys.executable, "-c", program)
    drain(side.workspace)
    assert_clean(side.workspace)


def test_the_configuration_of_mcp_clients_leads_to_the_tools(web_url: str) -> None:
    side = new_side()
    server = json.loads(shown_at(side, web_url)["mcp"])["mcpServers"]["holamem"]
    key = str(side.caller.token)
    headers = {
        name: value.replace("${HOLAMEM_API_KEY}", key) for name, value in server["headers"].items()
    }

    async def ask() -> Any:
        http = httpx2.AsyncClient(headers=headers, timeout=30)
        async with McpClient(streamable_http_client(server["url"], http_client=http)) as client:
            question = {"workspace": side.workspace.slug, "query": "Which port?"}
            return await client.call_tool("memory_retrieve", question)

    assert not asyncio.run(ask()).is_error


def test_the_snippets_of_frameworks_are_python_for_this_address(web_url: str) -> None:
    side = new_side()
    shown = shown_at(side, web_url)
    for name in ("openai-agents", "langgraph"):
        compile(shown[name], name, "exec")
        assert f'"{web_url}/mcp"' in shown[name]
        assert f'"{side.workspace.slug}"' in shown[name]
        assert "{{" not in shown[name]
