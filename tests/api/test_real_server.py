"""What only a real server shows: bodies of other lengths than they say, and drained uploads."""

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from holamem.environment import PROJECT_DIR
from tests.api.client import Side, event_body, new_side

MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def side(django_db_setup: None) -> Side:
    return new_side()


@pytest.fixture(scope="module")
def port(side: Side) -> Iterator[int]:
    command = [
        *(sys.executable, "-m", "uvicorn", "holamem.asgi:application"),
        *("--port", "0", "--lifespan", "off"),
    ]
    server = subprocess.Popen(
        command,
        cwd=PROJECT_DIR,
        env={**os.environ, "HOLAMEM_PROCESS": "web"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        yield next(int(m[1]) for line in server.stderr if (m := re.search(r":(\d+) \(Press", line)))
    finally:
        server.terminate()
        server.wait(timeout=20)
        server.stderr.close()


def send(
    port: int, side: Side, body: Any, *, path: str = "", **headers: str
) -> tuple[int, dict[str, Any], dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    given = {
        "Authorization": f"Bearer {side.caller.token}",
        "Content-Type": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    chunked = not isinstance(body, bytes)
    address = path or f"/api/v1/{side.base}/events"
    connection.request("POST", address, body, given, encode_chunked=chunked)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer, dict(response.getheaders())


def test_an_event_is_received(port: int, side: Side) -> None:
    status, answer, headers = send(port, side, json.dumps(event_body()).encode())
    assert (status, answer["status"]) == (202, "received")
    assert headers["X-Request-ID"] if "X-Request-ID" in headers else headers["x-request-id"]


def test_ten_megabytes_are_a_413_that_the_client_can_read(port: int, side: Side) -> None:
    status, answer, _ = send(port, side, b'{"text": "' + b"a" * (10 * MEGABYTE) + b'"}')
    assert (status, answer["errors"][0]["code"]) == (413, "payload_too_large")


def pieces(raw: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(raw), size):
        yield raw[start : start + size]


def test_a_chunked_body_is_read_like_any_other(port: int, side: Side) -> None:
    raw = json.dumps(event_body("分块发送的事实。")).encode()
    status, answer, _ = send(port, side, pieces(raw, 7), Transfer_Encoding="chunked")
    assert (status, answer["status"]) == (202, "received")


def test_a_chunked_body_without_end_is_cut_off(port: int, side: Side) -> None:
    raw = b'{"text": "' + b"a" * (10 * MEGABYTE)
    status, answer, _ = send(port, side, pieces(raw, MEGABYTE), Transfer_Encoding="chunked")
    assert (status, answer["errors"][0]["code"]) == (413, "payload_too_large")


def test_json_nested_two_thousand_deep_is_a_400(port: int, side: Side) -> None:
    raw = b'{"a": ' * 2000 + b"1" + b"}" * 2000
    status, answer, _ = send(port, side, raw)
    assert (status, answer["errors"][0]["code"]) == (400, "too_deep")


def test_an_unknown_address_is_a_problem(port: int, side: Side) -> None:
    status, answer, _ = send(port, side, b"{}", path="/api/v1/nowhere")
    assert (status, answer["title"]) == (404, "Not found")
