"""Cuts at every byte, hundreds of readers, and a database that has no connection left."""

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from uuid import uuid4

import psycopg
import pytest
from django.db import connection

from agents.models.conversations import Session
from agents.streaming import hub
from holamem.database.embedded import EmbeddedServer
from holamem.environment import get_environment
from tests.agents.processes import web_process
from tests.agents.sessions import make_session, tell, tell_many
from tests.agents.streaming.client import Stream, address, follow
from tests.api.client import caller_for
from workspaces.models.tenancy import Workspace

pytestmark = pytest.mark.slow

EVENTS = 200
READERS = 500
CONNECTIONS = 5
REFUSED_SECONDS = 5


class Client:
    """As far as a client has understood its bytes; what it has of a torn event is worth nothing."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self._waiting = b""

    def take(self, data: bytes) -> None:
        *whole, self._waiting = (self._waiting + data).split(b"\n\n")
        for block in whole:
            fields = dict(line.split(b": ", 1) for line in block.split(b"\n"))
            if b"data" in fields:
                self.seen.append(int(fields[b"id"]))


@pytest.fixture
def session(workspace: Workspace) -> Session:
    return make_session(workspace)


def told_after(web_url: str, session: Session, seq: int, *, count: int) -> bytes:
    """The stream from there on, up to its event number `count`."""
    last = f"id: {count}\n"
    text = ""
    with follow(web_url, session, Last_Event_ID=str(seq)) as stream:
        for block in stream.blocks():
            text += f"{block}\n\n"
            if block.startswith(last):
                return text.encode()
    raise AssertionError("the stream ended before its last event")


def test_a_stream_that_is_cut_at_any_byte_is_continued_without_a_gap(
    web_url: str, session: Session
) -> None:
    """What a reconnect brings depends on the last whole event alone: each of them is asked for."""
    tell_many(session, count=EVENTS)
    whole = told_after(web_url, session, 0, count=EVENTS)
    rest: dict[int, list[int]] = {EVENTS: []}
    for seq in range(EVENTS):
        later = Client()
        later.take(told_after(web_url, session, seq, count=EVENTS))
        rest[seq] = later.seen
    client, cuts = Client(), 0
    expected = list(range(1, EVENTS + 1))
    for position in range(len(whole)):
        last = client.seen[-1] if client.seen else 0
        assert client.seen + rest[last] == expected, position
        client.take(whole[position : position + 1])
        cuts += 1
    assert cuts > 100 * EVENTS
    assert client.seen == expected


def test_five_hundred_readers_hear_the_same_and_one_more_is_refused(
    web_url: str, session: Session
) -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(follow(web_url, session)) for _ in range(READERS)]
        readers = [stream.events() for stream in streams]
        with follow(web_url, session) as surplus:
            assert surplus.status == 429
        tell(session, "one", "two")
        for reader in readers:
            assert [next(reader)["seq"] for _ in range(2)] == [1, 2]
        assert hub.open_streams(session.workspace.tenant_id) == READERS
        for stream in streams[::2]:  # half of them hang up in the middle of what is told
            stream.socket.close()
        tell(session, "three")
        assert {next(reader)["seq"] for reader in readers[1::2]} == {3}


def test_a_database_that_hangs_up_costs_one_request_at_most_and_no_event(
    web_url: str, session: Session
) -> None:
    with follow(web_url, session) as stream:
        tell(session, "one")
        assert stream.take(1)[0]["seq"] == 1
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        tell(session, "two")
        statuses = []
        for _ in range(3):
            with follow(web_url, session, "?after=1") as another:
                statuses.append(another.status)
        assert statuses[0] in (200, 503)
        assert statuses[1:] == [200, 200]
        assert stream.take(1)[0]["seq"] == 2


@contextmanager
def few_connections() -> Iterator[str]:
    """The URL of a login that may have five connections: the server says the same when it is full."""
    name = f"few_{uuid4().hex[:8]}"
    url = re.sub("//[^@]*@", f"//{name}:{name}@", get_environment().database_url)
    server = EmbeddedServer(get_environment().data_dir)
    with psycopg.connect(server.superuser_url("postgres"), autocommit=True) as root:
        root.execute(f"CREATE ROLE {name} LOGIN CONNECTION LIMIT {CONNECTIONS} PASSWORD '{name}'")
        root.execute(f"GRANT holamem, holamem_app, holamem_system, holamem_eraser TO {name}")
        try:
            yield url
        finally:
            root.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [name]
            )
            root.execute(f"DROP ROLE {name}")


def backends() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE usename LIKE 'few_%%'")
        return int(cursor.fetchone()[0])


def test_a_database_without_a_free_connection_refuses_soon_and_streams_go_on(
    session: Session,
) -> None:
    """Twenty streams take no more connections than one, and none is taken from them."""
    with ExitStack() as stack:
        database = stack.enter_context(few_connections())
        url, _ = stack.enter_context(web_process(database_url=database))
        streams = [stack.enter_context(follow(url, session)) for _ in range(20)]
        assert {stream.status for stream in streams} <= {200, 503}
        following = [stream for stream in streams if stream.status == 200]
        assert len(following) >= 1
        assert backends() <= CONNECTIONS
        refused = _ask_at_once(url, session)
        assert refused > 0
        tell(session, "one")
        for stream in following:
            assert stream.take(1)[0]["seq"] == 1


def _ask_at_once(base_url: str, session: Session) -> int:
    """Thirty beside each other; each is answered within five seconds. Returns how many by 503."""
    token = caller_for(session.workspace.tenant).token

    def ask(number: int) -> int:
        began = time.monotonic()
        headers = {"Authorization": f"Bearer {token}", "Last_Event_ID": "0"}
        with Stream(base_url, address(session), **headers) as stream:
            assert time.monotonic() - began < REFUSED_SECONDS
            return stream.status

    with ThreadPoolExecutor(30) as pool:
        statuses = list(pool.map(ask, range(30)))
    assert set(statuses) <= {200, 503}
    return statuses.count(503)
