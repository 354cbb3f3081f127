"""A server that is told to stop does not wait for those who follow."""

import signal
import time

import pytest

from tests.agents.processes import web_process
from tests.agents.sessions import make_session, tell
from tests.agents.streaming.client import follow
from workspaces.models.tenancy import Workspace

pytestmark = pytest.mark.slow


def test_open_streams_end_with_a_word_when_the_server_stops(workspace: Workspace) -> None:
    session = make_session(workspace)
    tell(session, "one")
    with (
        web_process() as (url, process),
        follow(url, session) as one,
        follow(url, session, "?after=1") as two,
    ):
        assert "one" in [event["payload"]["text"] for event in one.take(1)]
        assert next(two.blocks()) == "retry: 2000"
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert all("Last-Event-ID" in list(stream.blocks())[-1] for stream in (one, two))
        process.wait(timeout=10)
    assert time.monotonic() - began < 5
