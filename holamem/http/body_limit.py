"""Answers 413 before the application reads a body that is too large.

Django spools a whole body to disk before a view runs; a chunked body has no length to check.
"""

import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from holamem.http.problems import API_PREFIX, CONTENT_TYPE, MCP_PATH, Problem

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

# A client that is still sending does not read: drain this much so that it sees the answer.
DRAINED_BYTES = 32 * 1024 * 1024
LIMITED_PATHS = (f"{API_PREFIX}/", MCP_PATH)
ARCHIVE_PATH = re.compile(rf"{API_PREFIX}/workspaces/[^/]+/import")


class BodyLimit:
    """ASGI wrapper for the API's routes; the pages' own uploads are not its business.

    An archive may have `max_archive_bytes`, if its length is declared: its view reads it as it
    comes, once the key was looked at.
    """

    def __init__(
        self, application: Application, *, max_bytes: int, max_archive_bytes: int | None = None
    ) -> None:
        self.application = application
        self.max_bytes = max_bytes
        self.max_archive_bytes = max_archive_bytes or max_bytes

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(LIMITED_PATHS):
            await self.application(scope, receive, send)
            return
        declared = declared_bytes(scope)
        if declared is None and _is_chunked(scope):
            await self._buffered(scope, receive, send)
        elif (declared or 0) > self._limit_of(scope["path"]):
            await drain(receive, already=0)
            await _refuse(scope, send)
        else:
            await self.application(scope, receive, send)

    def _limit_of(self, path: str) -> int:
        return self.max_archive_bytes if ARCHIVE_PATH.fullmatch(path) else self.max_bytes

    async def _buffered(
        self, scope: MutableMapping[str, Any], receive: Receive, send: Send
    ) -> None:
        """Collect a body of unknown length first; it is at most `max_bytes` in memory."""
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.max_bytes:
                if more:
                    await drain(receive, already=len(body))
                await _refuse(scope, send)
                return
        await self.application(_with_length(scope, len(body)), _replay(bytes(body), receive), send)


def declared_bytes(scope: MutableMapping[str, Any]) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and len(value) < 20:
            return int(value)
    return None


def _is_chunked(scope: MutableMapping[str, Any]) -> bool:
    return any(name == b"transfer-encoding" for name, _ in scope["headers"])


def _with_length(scope: MutableMapping[str, Any], length: int) -> MutableMapping[str, Any]:
    """The request as if its length had been declared: WSGI reads no body without one."""
    kept = [
        (name, value)
        for name, value in scope["headers"]
        if name.lower() not in (b"transfer-encoding", b"content-length")
    ]
    return {**scope, "headers": [*kept, (b"content-length", str(length).encode())]}


def _replay(body: bytes, receive: Receive) -> Receive:
    """The collected body as one message, then whatever the server says (a disconnect)."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


async def drain(receive: Receive, *, already: int) -> None:
    """Reads on, up to a bound, so that the client gets to reading the answer."""
    seen = already
    while seen < DRAINED_BYTES:
        message = await receive()
        seen += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return


async def _refuse(scope: MutableMapping[str, Any], send: Send) -> None:
    problem = Problem(413, "payload_too_large", "The body is too large.")
    body = json.dumps(problem.body(scope["path"])).encode()
    headers = [
        (b"content-type", CONTENT_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
