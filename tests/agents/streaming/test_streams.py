"""Replay, then live, over real HTTP."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from agents.models.conversations import Session
from agents.models.runs import RunEvent
from agents.streaming import follower, frames, hub
from holamem.clock import now
from holamem.database.scope import eraser_scope, system_scope
from tests.agents.sessions import make_session, tell, tell_many
from tests.agents.streaming.client import Stream, address, follow
from tests.api.client import caller_for, new_side
from workspaces.models.tenancy import ApiKey, Workspace


@pytest.fixture
def session(workspace: Workspace) -> Session:
    return make_session(workspace)


def seqs(stream: Stream, count: int) -> list[int]:
    return [event["seq"] for event in stream.take(count)]


def test_what_was_comes_first_and_then_what_is_told(web_url: str, session: Session) -> None:
    tell(session, "one", "二")
    with follow(web_url, session) as stream:
        kind = stream.headers["content-type"]
        assert (stream.status, kind) == (200, "text/event-stream; charset=utf-8")
        events = stream.events()
        assert [next(events)["payload"]["text"] for _ in range(2)] == ["one", "二"]
        tell(session, "three")
        tell_many(session, count=2)
        assert [next(events)["seq"] for _ in range(3)] == [3, 4, 5]


def test_after_and_last_event_id_agree_and_the_header_is_the_newer_one(
    web_url: str, session: Session
) -> None:
    tell_many(session, count=5)
    for query, headers in (
        ("?after=3", {}),
        ("", {"Last_Event_ID": "3"}),
        ("?after=1", {"Last_Event_ID": "3"}),
    ):
        with follow(web_url, session, query, **headers) as stream:
            assert seqs(stream, 2) == [4, 5]


def test_a_number_that_is_none_of_the_session_is_refused_by_its_name(
    web_url: str, session: Session
) -> None:
    tell_many(session, count=2)
    for query, headers, field in (
        ("?after=-1", {}, "after"),
        ("?after=two", {}, "after"),
        ("?after=3", {}, "after"),
        ("", {"Last_Event_ID": "-1"}, "Last-Event-ID"),
        ("", {"Last_Event_ID": "二"}, "Last-Event-ID"),
        ("", {"Last_Event_ID": "3"}, "Last-Event-ID"),
        ("", {"Last_Event_ID": "9" * 40}, "Last-Event-ID"),
    ):
        with follow(web_url, session, query, **headers) as stream:
            problem = json.loads(stream.body())
            assert (stream.status, problem["errors"][0]["field"]) == (400, field)


def test_a_foreign_session_is_the_same_as_none(web_url: str, session: Session) -> None:
    tell(session, "secret")
    stranger = make_session(new_side().workspace)
    own = f"/api/v1/workspaces/{stranger.workspace.slug}/sessions"
    token = caller_for(stranger.workspace.tenant).token
    told = []
    for wanted in (session.id, uuid4()):
        with Stream(
            web_url, f"{own}/{wanted}/events?after=0", Authorization=f"Bearer {token}"
        ) as stream:
            assert stream.status == 404
            told.append(stream.body().replace(str(wanted).encode(), b""))
    assert told[0] == told[1]


def test_two_clients_see_the_same_order_from_one_read(
    web_url: str, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    read = frames.read_frames

    def counted(source: frames.Source, *, after: int) -> list[frames.Frame]:
        reads.append(after)
        return read(source, after=after)

    monkeypatch.setattr(hub, "read_frames", counted)
    with follow(web_url, session) as one, follow(web_url, session) as two:
        assert next(one.blocks()) == next(two.blocks()) == "retry: 2000"
        tell_many(session, count=3)
        assert one.take(3) == two.take(3)
    assert reads == [0]


def test_what_was_erased_is_not_told_from_memory(
    web_url: str, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "KEPT_SECONDS", 0)
    with follow(web_url, session) as early:
        assert next(early.blocks()) == "retry: 2000"
        tell(session, "secret")
        assert seqs(early, 1) == [1]
        with eraser_scope():
            RunEvent.objects.filter(session=session).update(payload={"erased": True})
        with follow(web_url, session) as late:
            assert late.take(1)[0]["payload"] == {"erased": True}


def test_an_event_between_replay_and_live_is_not_lost_and_not_doubled(
    web_url: str, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is committed when the last page of the replay has been read, and not yet sent."""
    tell_many(session, count=3)
    read = frames.read_frames

    def told_in_between(source: frames.Source, *, after: int) -> list[frames.Frame]:
        found = read(source, after=after)
        if after == 0:
            tell(session, "in between")
        return found

    monkeypatch.setattr(hub, "read_frames", told_in_between)
    with follow(web_url, session) as stream:
        events = stream.events()
        assert [next(events)["seq"] for _ in range(4)] == [1, 2, 3, 4]
        tell(session, "later")
        assert next(events)["seq"] == 5


def test_what_a_lost_connection_did_not_tell_is_found_by_the_poll(
    web_url: str, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "POLL_SECONDS", 0.1)
    monkeypatch.setattr("agents.streaming.listening.CHANNEL", "another_channel")
    tell(session, "one")
    with follow(web_url, session) as stream:
        assert seqs(stream, 1) == [1]
        tell(session, "two")
        assert seqs(stream, 1) == [2]


def test_a_client_that_is_cut_off_anywhere_gets_the_rest(web_url: str, session: Session) -> None:
    """Whole events are kept, a torn one is asked for again."""
    tell_many(session, count=60)
    seen: list[int] = []
    for size in range(400, 3000, 397):
        with follow(web_url, session, Last_Event_ID=str(seen[-1] if seen else "")) as stream:
            seen += whole_events(stream, size=size)
    with follow(web_url, session, Last_Event_ID=str(seen[-1])) as stream:
        seen += seqs(stream, 60 - len(seen))
    assert seen == list(range(1, 61))


def whole_events(stream: Stream, *, size: int) -> list[int]:
    """Of the first `size` bytes."""
    whole = stream.file.read(size).decode().split("\n\n")[:-1]
    return [int(block.split("id: ")[1].split("\n")[0]) for block in whole if "id: " in block]


def test_a_quiet_stream_shows_that_it_is_alive(
    web_url: str, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "HEARTBEAT_SECONDS", 0.05)
    with follow(web_url, session) as stream:
        blocks = stream.blocks()
        assert [next(blocks) for _ in range(3)] == ["retry: 2000", ": alive", ": alive"]


def test_the_stream_of_a_revoked_key_ends_with_a_word(
    web_url: str, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "CHECK_SECONDS", 0.05)
    with follow(web_url, session) as stream:
        blocks = stream.blocks()
        assert next(blocks) == "retry: 2000"
        with system_scope():
            ApiKey.objects.filter(tenant=session.workspace.tenant).update(revoked_at=now())
        tell(session, "secret")
        assert "Last-Event-ID" in list(blocks)[-1]


def test_a_client_that_takes_nothing_is_dropped_and_others_go_on(
    web_url: str, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "SLOW_SECONDS", 0.2)
    with follow(web_url, session) as quick, follow(web_url, session) as slow:
        events = quick.events()
        for number in range(1, 13):
            tell(session, "长" * 300_000)
            assert next(events)["seq"] == number
        until(lambda: open_here(session) == 1)
        assert len(slow.file.read()) < 12 * 900_000


def open_here(session: Session) -> int:
    return hub.open_streams(session.workspace.tenant_id)


def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def test_too_many_streams_of_a_tenant_are_refused(
    web_url: str, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.streaming.answer.TENANT_STREAMS", 1)
    with follow(web_url, session) as first:
        assert next(first.blocks()) == "retry: 2000"
        with follow(web_url, session) as second:
            assert second.status == 429
            assert "retry-after" in second.headers
    until(lambda: open_here(session) == 0)


def test_without_a_server_that_streams_the_beginning_is_answered(session: Session) -> None:
    tell(session, "one")
    caller = caller_for(session.workspace.tenant)
    answer = caller.get(address(session))
    assert answer.content.decode().count("\nevent: assistant.delta\n") == 1
    assert caller.send("HEAD", address(session)).status_code == 200


@pytest.fixture(autouse=True)
def _nobody_stays(session: Session) -> Iterator[None]:
    yield
    until(lambda: open_here(session) == 0)
