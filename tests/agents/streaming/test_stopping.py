"""A server that is told to stop does not wait for those who follow."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from holamem.environment import PROJECT_DIR
from tests.agents.sessions import make_session, tell
from tests.agents.streaming.client import follow
from workspaces.models.tenancy import Workspace

pytestmark = pytest.mark.slow


@pytest.fixture
def server(workspace: Workspace) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """As `manage.py up` starts it, but with patience that the test would notice."""
    command = [
        *(sys.executable, "-m", "uvicorn", "holamem.asgi:application"),
        *("--port", "0", "--timeout-graceful-shutdown", "30"),
    ]
    process = subprocess.Popen(
        command,
        cwd=PROJECT_DIR,
        env={**os.environ, "HOLAMEM_PROCESS": "web"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    ports = (re.search(r":(\d+) \(Press", line) for line in process.stderr)
    yield f"http://127.0.0.1:{next(int(m[1]) for m in ports if m)}", process
    process.kill()
    process.wait()
    process.stderr.close()


def test_open_streams_end_with_a_word_when_the_server_stops(
    server: tuple[str, "subprocess.Popen[str]"], workspace: Workspace
) -> None:
    url, process = server
    session = make_session(workspace)
    tell(session, "one")
    with follow(url, session) as one, follow(url, session, "?after=1") as two:
        assert "one" in [event["payload"]["text"] for event in one.take(1)]
        assert next(two.blocks()) == "retry: 2000"
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert all("Last-Event-ID" in list(stream.blocks())[-1] for stream in (one, two))
        process.wait(timeout=10)
    assert time.monotonic() - began < 5
