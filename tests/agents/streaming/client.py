"""A plain client of server-sent events on a socket of its own."""

import json
import socket
from collections.abc import Iterator
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from agents.models.conversations import Session
from tests.api.client import caller_for

SECONDS = 10


class Stream:
    """Reads lines as they come; `status` and `headers` are those of the answer."""

    def __init__(self, base_url: str, path: str, **headers: str) -> None:
        place = urlsplit(base_url)
        self.socket = socket.create_connection((place.hostname, place.port), timeout=SECONDS)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"GET {path} HTTP/1.1", f"Host: {place.netloc}"]
        lines += [f"{name}: {value}" for name, value in given.items()]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = dict(self._headers())

    def _headers(self) -> Iterator[tuple[str, str]]:
        while line := self.file.readline().strip():
            name, _, value = line.decode().partition(":")
            yield name.lower(), value.strip()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.file.close()
        self.socket.close()

    def body(self) -> bytes:
        return self.file.read(int(self.headers["content-length"]))

    def blocks(self) -> Iterator[str]:
        """What stands between empty lines, until the end of the answer."""
        waiting = ""
        while size := int(self.file.readline() or b"0", 16):
            waiting += self.file.read(size).decode()
            self.file.readline()
            *whole, waiting = waiting.split("\n\n")
            yield from whole

    def events(self) -> Iterator[dict[str, Any]]:
        for block in self.blocks():
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            if "data" in fields:
                event = json.loads(fields["data"])
                assert (fields["id"], fields["event"]) == (str(event["seq"]), event["type"])
                yield event

    def take(self, count: int) -> list[dict[str, Any]]:
        events = self.events()
        return [next(events) for _ in range(count)]


def address(session: Session, query: str = "") -> str:
    return f"/api/v1/workspaces/{session.workspace.slug}/sessions/{session.id}/events{query}"


def follow(base_url: str, session: Session, query: str = "", **headers: str) -> Stream:
    token = caller_for(session.workspace.tenant).token
    given = {"Authorization": f"Bearer {token}", **headers}
    return Stream(base_url, address(session, query), **given)
