"""The WSGI application behind ASGI: whole bodies, bounded memory, one thread a request."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from holamem.http.threads import AHEAD_BYTES, Threads

Messages = list[dict[str, Any]]
BLOCK = b"x" * 65_536


def scope() -> dict[str, Any]:
    return {
        "type": "http", "method": "POST", "path": "/", "query_string": b"", "http_version": "1.1",
        "headers": [], "server": ("127.0.0.1", 80), "client": None,
    }  # fmt: skip


def call(
    application: Callable[..., Iterable[bytes]],
    *,
    parts: Iterable[bytes] = (b"",),
    taken: Callable[[], Any] = lambda: None,
) -> Messages:
    """The messages of one answer; `taken` runs before the client takes each of them."""

    async def run() -> Messages:
        arriving = list(parts)
        sent: Messages = []

        async def receive() -> dict[str, Any]:
            return {
                "type": "http.request", "body": arriving.pop(0), "more_body": bool(arriving),
            }  # fmt: skip

        async def send(message: dict[str, Any]) -> None:
            taken()
            await asyncio.sleep(0)
            sent.append(message)

        await Threads(application, workers=1)(scope(), receive, send)
        return sent

    return asyncio.run(run())


def test_a_body_that_comes_in_parts_is_read_whole() -> None:
    def echo(environ: dict[str, Any], start: Any) -> list[bytes]:
        start("200 OK", [("X-Part", "1")])
        return [environ["wsgi.input"].read()]

    sent = call(echo, parts=[b"one ", b"two ", b"three"])
    assert sent[0]["status"] == 200
    assert (b"x-part", b"1") in sent[0]["headers"]
    assert b"".join(message.get("body", b"") for message in sent) == b"one two three"
    assert sent[-1].get("more_body", False) is False


def test_a_thread_is_never_far_ahead_of_a_slow_client() -> None:
    made, seen, furthest = [0], [0], [0]

    def blocks(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        start("200 OK", [])
        for _ in range(100):
            made[0] += len(BLOCK)
            yield BLOCK

    def taken() -> None:
        furthest[0] = max(furthest[0], made[0] - seen[0])
        seen[0] += len(BLOCK)

    sent = call(blocks, taken=taken)
    assert sum(len(message.get("body", b"")) for message in sent) == 100 * len(BLOCK)
    assert furthest[0] <= AHEAD_BYTES + 4 * len(BLOCK)


def test_a_client_that_breaks_off_holds_no_thread() -> None:
    made = [0]

    def blocks(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        start("200 OK", [])
        for _ in range(100):
            made[0] += 1
            yield BLOCK

    def broken() -> None:
        if made[0] > 20:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        call(blocks, taken=broken)
    assert made[0] == 100


def test_an_error_reaches_the_server_and_leaves_no_thread_waiting() -> None:
    def broken(environ: dict[str, Any], start: Any) -> list[bytes]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call(broken)


def test_a_request_is_answered_in_one_thread() -> None:
    names: set[str] = set()

    def note(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        names.add(threading.current_thread().name)
        environ["wsgi.input"].read()
        start("200 OK", [])
        names.add(threading.current_thread().name)
        yield b"done"

    call(note)
    assert len(names) == 1
    assert names != {threading.main_thread().name}
