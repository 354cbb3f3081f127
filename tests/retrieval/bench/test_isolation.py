"""Questions at a pace, whatever is answered; and the same question with and without the fence."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from django.db import connection

from holamem.database import one_trip, scope
from retrieval.bench import fence
from retrieval.bench.pacing import Pace, ask_at_pace
from tests.workspaces.memory import draft, remember
from workspaces.models.tenancy import Workspace

ADMITTED = 5  # requests, of all that the server below is asked


@pytest.fixture
def url() -> Iterator[str]:
    """A server that admits so many requests and refuses the others."""
    loop, asked = asyncio.new_event_loop(), []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                asked.append(await reader.readexactly(int(length)))
                status = b"200 OK" if len(asked) <= ADMITTED else b"429 Too Many Requests"
                writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\n{}")

    server = loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(ended(server))
    loop.close()


async def ended(server: asyncio.Server) -> None:
    server.close()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def test_every_question_is_asked_and_only_answers_are_timed(url: str) -> None:
    told = ask_at_pace(Pace(url, "/ask", "hm_a_b", per_second=200, seconds=0.1), ["Who?", "What?"])
    assert told.statuses == {200: ADMITTED, 429: 15}
    assert len(told.millis) == ADMITTED
    assert min(told.millis) > 0


def test_a_server_that_is_not_there_is_no_answer() -> None:
    told = ask_at_pace(Pace("http://127.0.0.1:9", "/", "k", per_second=100, seconds=0.05), ["Who?"])
    assert (told.statuses, told.millis) == ({0: 5}, [])


@pytest.mark.slow
def test_the_fence_is_whole_afterwards(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workspace, draft("The Atlas gateway listens on port 8443."))
    monkeypatch.setattr(fence, "sample_questions", lambda: ["Where does the gateway listen?"])
    real = scope.scope_of
    measures = {one.name: one.value for one in fence.measure_fence(workspace, rounds=2)}
    assert measures["row_security_ratio"] > 0
    assert scope.scope_of is one_trip.scope_of is real
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relrowsecurity <> relforcerowsecurity")
        assert cursor.fetchall() == []
