"""Numbers without gaps, in the order in which they can be seen."""

import threading
from uuid import uuid4

import psycopg
import pytest
from django.db import ProgrammingError, connection, connections, transaction

from agents.events.append import CHANNEL, append_event
from agents.events.replay import event_data, events_after
from agents.models.conversations import Session
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.environment import get_environment
from holamem.errors import NotFound
from tests.agents.sessions import DELTA, make_session, tell, tell_many
from workspaces.models.tenancy import Workspace

WRITERS = 4
EACH = 10


def seqs(workspace: Workspace, session_id: object, **wanted: int) -> list[int]:
    found = events_after(
        workspace,
        scopes=ALL_SCOPES,
        session_id=session_id,  # type: ignore[arg-type]
        after=wanted.get("after", 0),
        limit=wanted.get("limit", 500),
    )
    return [event.seq for event in found]


def lose_one(workspace: Workspace, session: Session) -> None:
    """An event whose transaction does not commit."""
    with workspace_scope(workspace):
        append_event(workspace, session=session, type=DELTA, payload={})
        transaction.set_rollback(True)


def test_events_are_numbered_from_one_and_read_from_any_number(workspace: Workspace) -> None:
    session = make_session(workspace)
    told = tell(session, "one", "二", "three")
    assert [event.seq for event in told] == [1, 2, 3]
    assert session.last_event_seq == 3
    assert seqs(workspace, session.id) == [1, 2, 3]
    assert seqs(workspace, session.id, after=1, limit=1) == [2]
    assert seqs(workspace, session.id, after=3) == []
    [second] = events_after(workspace, scopes=None, session_id=session.id, after=1, limit=1)
    assert event_data(second) == {
        "event_id": str(told[1].id),
        "session_id": str(session.id),
        "run_id": None,
        "turn_id": None,
        "seq": 2,
        "type": "assistant.delta",
        "payload": {"text": "二"},
        "created_at": told[1].created_at.isoformat(),
    }


def test_an_event_that_is_rolled_back_leaves_no_gap(workspace: Workspace) -> None:
    session = make_session(workspace)
    tell(session, "kept")
    lose_one(workspace, session)
    tell(session, "kept too")
    assert seqs(workspace, session.id) == [1, 2]


def test_writers_at_once_leave_no_gap_and_none_sees_a_later_number_first(
    workspace: Workspace,
) -> None:
    session = make_session(workspace)
    start = threading.Barrier(WRITERS + 1)
    views: list[list[int]] = []

    def write() -> None:
        mine = type(session)(id=session.id, workspace=workspace, scope_id=workspace.id)
        start.wait()
        for number in range(EACH):
            tell(mine, str(number))
        connections.close_all()

    threads = [threading.Thread(target=write) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    start.wait()
    while any(thread.is_alive() for thread in threads):
        views.append(seqs(workspace, session.id))
    views.append(seqs(workspace, session.id))
    assert all(view == list(range(1, len(view) + 1)) for view in views)
    assert len(views[-1]) == WRITERS * EACH


def test_a_listener_is_told_of_a_committed_event_and_of_no_other(workspace: Workspace) -> None:
    session = make_session(workspace)
    with psycopg.connect(get_environment().database_url, autocommit=True) as listener:
        listener.execute(f"LISTEN {CHANNEL}")
        lose_one(workspace, session)
        tell_many(session, count=2)
        told = [note.payload for note in listener.notifies(timeout=5, stop_after=2)]
    assert told == [f"{workspace.id}:{session.id}:{seq}" for seq in (1, 2)]


def test_another_end_users_session_takes_no_event_and_shows_none(workspace: Workspace) -> None:
    session = make_session(workspace, scope_id=uuid4())
    tell(session, "private")
    with pytest.raises(NotFound), workspace_scope(workspace):
        append_event(workspace, session=session, type=DELTA, payload={})
    assert events_after(workspace, scopes=None, session_id=session.id, after=0) == []
    assert seqs(workspace, session.id) == [1]


def test_an_event_is_never_changed(workspace: Workspace) -> None:
    [event] = tell(make_session(workspace), "said")
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        workspace_scope(workspace),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE agents_runevent SET type = 'run.failed' WHERE id = %s", [event.id])
