"""What is sent again, how often, and what the caller gets to see. No server."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from holamem.client import (
    ApiError,
    AsyncMemory,
    BadAnswer,
    Conflict,
    Connection,
    InvalidRequest,
    Memory,
    NotAuthenticated,
    NotConfigured,
    NotFound,
    NotPermitted,
    RateLimited,
    ServerFailed,
    Unreachable,
)
from holamem.environment import PROJECT_DIR

HERE = Connection(url="http://memory.test", api_key="hm_ab_secret", workspace="main")
RECEIVED = (202, {"event_id": "e-1", "status": "received"}, {})
Step = tuple[int, Any, dict[str, str]] | Exception


class Script:
    """Answers one step after another; the last one for ever. Keeps what was asked."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.requests: list[httpx2.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, Exception):
            raise step
        status, data, headers = step
        return httpx2.Response(status, json=data, headers=headers)

    def memory(self) -> Memory:
        return Memory(HERE, transport=httpx2.MockTransport(self), sleep=self.pauses.append)


def problem(code: str, *, field: str = "", **headers: str) -> tuple[Any, dict[str, str]]:
    errors = [{"field": field, "code": code, "message": "Words."}]
    return {"detail": "Words.", "errors": errors}, headers


def refused(status: int, code: str, **headers: str) -> Step:
    body, given = problem(code)
    return (
        status,
        body,
        {name.replace("_", "-"): value for name, value in (given | headers).items()},
    )


def test_a_write_is_sent_again_with_the_same_key_and_body() -> None:
    script = Script(httpx2.ConnectError("no"), refused(503, "unavailable"), RECEIVED)
    assert script.memory().remember("A fact.").event_id == "e-1"
    assert len({request.headers["Idempotency-Key"] for request in script.requests}) == 1
    assert len({request.content for request in script.requests}) == 1
    assert len(script.pauses) == 2
    script.memory().remember("A fact.")
    assert (
        script.requests[-1].headers["Idempotency-Key"]
        != (script.requests[0].headers["Idempotency-Key"])
    )


def test_the_server_says_how_long_to_wait() -> None:
    script = Script(refused(429, "throttled", Retry_After="7"), RECEIVED)
    script.memory().remember("A fact.")
    assert script.pauses == [7.0]


def test_a_twin_that_is_still_running_is_waited_for() -> None:
    script = Script(refused(409, "still_running", Retry_After="1"), RECEIVED)
    assert script.memory().remember("A fact.").status == "received"


@pytest.mark.parametrize(
    ("status", "code", "kind", "attempts"),
    [
        (400, "blank", InvalidRequest, 1),
        (401, "key_revoked", NotAuthenticated, 1),
        (403, "permission_denied", NotPermitted, 1),
        (404, "not_found", NotFound, 1),
        (409, "conflict", Conflict, 1),
        (413, "text_too_large", InvalidRequest, 1),
        (422, "idempotency_mismatch", InvalidRequest, 1),
        (429, "throttled", RateLimited, 4),
        (500, "internal_error", ServerFailed, 1),
        (503, "unavailable", ServerFailed, 4),
        (418, "teapot", ApiError, 1),
    ],
)
def test_a_refusal_has_a_type_and_is_retried_only_when_it_passes(
    status: int, code: str, kind: type[ApiError], attempts: int
) -> None:
    script = Script(refused(status, code, X_Request_ID="r-1"))
    with pytest.raises(kind, match=r"Words\.") as caught:
        script.memory().retrieve("Who?")
    assert (caught.value.code, caught.value.status) == (code, status)
    assert caught.value.request_id == "r-1"
    assert len(script.requests) == attempts


def test_a_limit_of_an_hour_is_the_callers_to_wait_for() -> None:
    script = Script(refused(429, "quota", Retry_After="3600"))
    with pytest.raises(RateLimited) as caught:
        script.memory().retrieve("Who?")
    assert (caught.value.retry_after, len(script.requests)) == (3600.0, 1)


@pytest.mark.parametrize("error", [httpx2.ConnectError("x"), httpx2.ReadTimeout("x")])
def test_a_server_that_does_not_answer_is_unreachable(error: Exception) -> None:
    script = Script(error)
    with pytest.raises(Unreachable):
        script.memory().browse()
    assert len(script.requests) == 4


@pytest.mark.parametrize("data", [None, [], {}, {"status": 5}, {"status": "x", "chunks": [1]}])
def test_an_answer_of_another_shape_is_named_as_such(data: Any) -> None:
    with pytest.raises(BadAnswer):
        Script((200, data, {})).memory().remember("A fact.")


def test_a_proxys_page_is_an_error_with_its_status() -> None:
    page: Callable[..., Any] = lambda request: httpx2.Response(502, text="<html>Bad gateway</html>")  # noqa: E731
    memory = Memory(HERE, transport=httpx2.MockTransport(page), sleep=lambda _: None)
    with pytest.raises(ServerFailed, match="502"):
        memory.retrieve("Who?")


def test_the_workspace_of_a_bound_key_is_asked_for_once() -> None:
    me = (200, {"workspace": {"slug": "mine", "name": "Mine"}, "permissions": []}, {})
    script = Script(me, RECEIVED)
    connection = Connection(url="http://memory.test", api_key="hm_ab_secret", workspace="")
    memory = Memory(connection, transport=httpx2.MockTransport(script))
    memory.remember("One.")
    memory.remember("Two.")
    paths = [request.url.path for request in script.requests]
    assert paths == ["/api/v1/me", *["/api/v1/workspaces/mine/events"] * 2]


def test_a_key_that_is_bound_to_none_needs_a_workspace() -> None:
    script = Script((200, {"workspace": None, "permissions": []}, {}))
    connection = Connection(url="http://memory.test", api_key="hm_ab_secret", workspace="")
    with pytest.raises(NotConfigured, match="HOLAMEM_WORKSPACE"):
        Memory(connection, transport=httpx2.MockTransport(script)).retrieve("Who?")


def test_a_key_is_needed_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLAMEM_API_KEY", raising=False)
    with pytest.raises(NotConfigured, match="HOLAMEM_API_KEY"):
        Memory(Connection())
    assert "secret" not in repr(Memory(HERE))


def test_the_asynchronous_client_retries_likewise() -> None:
    script = Script(httpx2.ConnectError("no"), refused(503, "unavailable"), RECEIVED)
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def go() -> str:
        transport = httpx2.MockTransport(script)
        async with AsyncMemory(HERE, transport=transport, sleep=pause) as memory:
            return (await memory.remember("一个事实。")).status

    assert asyncio.run(go()) == "received"
    assert len({request.headers["Idempotency-Key"] for request in script.requests}) == 1
    assert len(pauses) == 2
    assert json.loads(script.requests[0].content)["text"] == "一个事实。"


def test_the_client_imports_no_framework_and_no_app() -> None:
    code = (
        "import sys, holamem.client, holamem.client.commands\n"
        "banned = ('django', 'rest_framework', 'psycopg', 'workspaces', 'retrieval', 'openai')\n"
        "print([name for name in sys.modules if name.partition('.')[0] in banned])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT_DIR, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
