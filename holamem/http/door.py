"""Refuses at the door whoever was refused a moment ago, before a thread or the database is asked."""

import json
import time
from collections.abc import MutableMapping
from typing import Any
from uuid import uuid4

from holamem.http.body_limit import LIMITED_PATHS, Application, Receive, Send, drain
from holamem.http.problems import CONTENT_TYPE, Problem
from holamem.http.rate_limit import doors

THROTTLED = "Request was throttled."


class Door:
    """ASGI wrapper around the API's routes: 429 for a key whose next token is not there yet.

    The buckets stay the judge: what this lets pass is counted by them, and what it refuses they
    would refuse too.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(LIMITED_PATHS):
            header = _authorization(scope)
            wait = doors.wait(header, at=time.monotonic()) if header is not None else 0.0
            if wait:
                await drain(receive, already=0)
                await _refuse(scope, send, wait=wait)
                return
        await self.application(scope, receive, send)


def _authorization(scope: MutableMapping[str, Any]) -> bytes | None:
    for name, value in scope["headers"]:
        if name == b"authorization":
            header: bytes = value
            return header
    return None


async def _refuse(scope: MutableMapping[str, Any], send: Send, *, wait: float) -> None:
    body = json.dumps(Problem(429, "throttled", THROTTLED).body(scope["path"])).encode()
    headers = [
        (b"content-type", CONTENT_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", str(max(1, round(wait))).encode()),
        (b"cache-control", b"no-store"),
        (b"x-request-id", uuid4().hex.encode()),
    ]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send({"type": "http.response.body", "body": body})
