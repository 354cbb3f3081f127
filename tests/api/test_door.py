"""Whoever was refused a moment ago is refused before a thread or the database is asked."""

import asyncio
import json
import time
from typing import Any

import pytest

from holamem.http import door, rate_limit
from holamem.http.rate_limit import ShutDoors, TokenBuckets
from tests.api.client import new_side
from workspaces.services.quotas import set_quotas

KEY = b"Bearer hm_a_b"


@pytest.fixture
def doors(monkeypatch: pytest.MonkeyPatch) -> ShutDoors:
    fresh = ShutDoors()
    monkeypatch.setattr(door, "doors", fresh)
    monkeypatch.setattr(rate_limit, "doors", fresh)
    return fresh


def knock(path: str = "/api/v1/me", header: bytes = KEY) -> tuple[bool, list[Any]]:
    """Whether the application was asked, and what the door itself sent."""
    asked, sent = [], []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "headers": [(b"authorization", header)]}
    asyncio.run(door.Door(application)(scope, receive, send))
    return bool(asked), sent


def test_a_refused_key_is_refused_at_the_door_until_its_next_token(doors: ShutDoors) -> None:
    doors.shut(KEY, until=time.monotonic() + 60)
    asked, [head, body] = knock()
    assert (asked, head["status"]) == (False, 429)
    assert dict(head["headers"])[b"retry-after"] == b"60"
    assert json.loads(body["body"])["errors"][0]["code"] == "throttled"
    assert not knock(header=b"bEARER hm_a_b")[0]
    assert knock(header=b"Bearer hm_c_d") == (True, [])
    assert knock(path="/healthz") == (True, [])
    doors.shut(KEY, until=time.monotonic())
    assert knock() == (True, [])


def test_the_door_shuts_when_the_buckets_refuse(
    doors: ShutDoors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limit, "_buckets", TokenBuckets(per_second=0.01, burst=1))
    side = new_side()
    header = f"Bearer {side.caller.token}".encode()
    assert side.caller.get("me").status_code == 200
    assert knock(header=header)[0], "who was admitted may knock again"
    assert side.caller.get("me").status_code == 429
    assert not knock(header=header)[0]


def test_a_tenant_may_have_a_rate_of_its_own(doors: ShutDoors) -> None:
    side, other = new_side(), new_side()
    set_quotas(side.tenant, quotas={"requests_per_second": 1})
    answers = [side.caller.get("me").status_code for _ in range(7)]
    assert answers[:5] == [200] * 5
    assert 429 in answers[5:]
    assert {other.caller.get("me").status_code for _ in range(7)} == {200}
