"""Tools of a deployment, reached over HTTP as a file describes them."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.exceptions import ImproperlyConfigured

from agents.tools.outside import read_tools
from agents.tools.registry import Tool
from tests.agents.replies import talk, tool
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace

SCHEMA = {"type": "object", "properties": {"service": {"type": "string"}}}


class Server(http.server.ThreadingHTTPServer):
    """`script` are (status, body) of the next answers; None hangs up without one."""

    script: list[tuple[int, bytes] | None]
    requests: list[tuple[dict[str, str], dict[str, Any]]]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(({k.lower(): v for k, v in self.headers.items()}, body))
        answer = self.server.script.pop(0)
        if answer is None:
            self.connection.close()
            return
        self.send_response(answer[0])
        self.send_header("Content-Length", str(len(answer[1])))
        self.end_headers()
        self.wfile.write(answer[1])

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def serving(*script: tuple[int, bytes] | None) -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.script, server.requests = list(script), []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def described(tmp_path: Path, port: int, **more: Any) -> list[Tool]:
    entry = {
        "name": "get_status",
        "description": "State of a service.",
        "parameters": SCHEMA,
        "url": f"http://127.0.0.1:{port}/status",
        "headers": {"Authorization": "Bearer ${STATUS_TOKEN}"},
        **more,
    }
    path = tmp_path / "tools.yaml"
    path.write_text(yaml.safe_dump({"tools": [entry]}))
    return read_tools(path)


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATUS_TOKEN", "t0p")


def test_an_outside_tool_is_called_with_the_calls_id_as_its_key(
    workspace: Workspace, tmp_path: Path
) -> None:
    with serving((200, "支付网关正常。".encode()), (503, b"down")) as server:
        [made] = described(tmp_path, server.server_port)
        with tool(made):
            talking = talk(workspace, tools=("get_status",))
            talking.reply(("get_status", {"service": "支付网关"}))
            [call] = talking.work()
            talking.reply(("get_status", {}))
            [refused] = talking.work()
            talking.end()
    assert (call.status, call.result) == ("succeeded", "支付网关正常。")
    assert (refused.status, refused.reason, refused.result) == ("failed", "status_503", "down")
    headers, body = server.requests[0]
    assert (headers["authorization"], headers["idempotency-key"]) == ("Bearer t0p", str(call.id))
    assert (body["arguments"], body["workspace"]) == ({"service": "支付网关"}, workspace.slug)
    assert_clean(workspace)


@pytest.mark.parametrize(
    ("is_idempotent", "status", "reason"),
    [(True, "failed", "no_answer"), (False, "unknown_outcome", "unknown_outcome")],
)
def test_without_an_answer_nobody_knows_what_an_outside_tool_did(
    workspace: Workspace, tmp_path: Path, is_idempotent: bool, status: str, reason: str
) -> None:
    with serving(None) as server:
        [made] = described(tmp_path, server.server_port, is_idempotent=is_idempotent)
        with tool(made):
            talking = talk(workspace, tools=("get_status",))
            talking.reply(("get_status", {}))
            [call] = talking.work()
    assert (call.status, call.reason) == (status, reason)


def test_an_outside_tool_that_is_not_there_fails(workspace: Workspace, tmp_path: Path) -> None:
    with serving() as server:
        port = server.server_port
    [made] = described(tmp_path, port)
    with tool(made):
        talking = talk(workspace, tools=("get_status",))
        talking.reply(("get_status", {}))
        [call] = talking.work()
    assert (call.status, call.reason) == ("failed", "unreachable")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "memory_steal"}, "must not begin with"),
        ({"name": "ping"}, "there twice"),
        ({"url": "file:///etc/passwd"}, "url"),
        ({"parameters": {"type": "thing"}}, "cannot be read"),
        ({"headers": {"X": "${NOT_SET_ANYWHERE}"}}, "NOT_SET_ANYWHERE"),
        ({"capabilities": ["fly"]}, "capabilities"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_wrong_description_of_an_outside_tool_is_refused(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=words):
        described(tmp_path, 80, **change)
