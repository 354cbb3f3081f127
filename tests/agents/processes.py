"""The processes of an installation, as an operator starts them, on a test's own database."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from holamem.environment import PROJECT_DIR, get_environment

Process = subprocess.Popen[str]
START_SECONDS = 120.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def web_process(*, port: int = 0, database_url: str = "") -> Iterator[tuple[str, Process]]:
    """Its address, once it listens. It has more patience with open streams than any test."""
    command = [
        *(sys.executable, "-m", "uvicorn", "holamem.asgi:application"),
        *("--port", str(port), "--timeout-graceful-shutdown", "30"),
    ]
    with tempfile.TemporaryFile("w+") as log:
        variables = {"HOLAMEM_PROCESS": "web", "HOLAMEM_DATABASE_URL": database_url}
        with _started(command, log=log.fileno(), **variables) as process:
            yield f"http://127.0.0.1:{_port_in(log, process)}", process


def _port_in(log: IO[str], process: Process) -> int:
    ends_at = time.monotonic() + START_SECONDS
    while time.monotonic() < ends_at and process.poll() is None:
        log.seek(0)
        found = re.search(r":(\d+) \(Press", log.read())
        if found:
            return int(found[1])
        threading.Event().wait(0.05)
    raise AssertionError("the server did not start")


@contextmanager
def runner_process() -> Iterator[Process]:
    """`manage.py runner`; it has begun when it takes a run up."""
    command = [sys.executable, str(PROJECT_DIR / "manage.py"), "runner", "--threads", "2"]
    with _started(command, log=subprocess.DEVNULL) as process:
        yield process


@contextmanager
def _started(command: list[str], *, log: int, **variables: str) -> Iterator[Process]:
    given = {"HOLAMEM_DATABASE_URL": get_environment().database_url}
    given |= {name: value for name, value in variables.items() if value}
    process = subprocess.Popen(
        command,
        cwd=PROJECT_DIR,
        env={**os.environ, **given},
        stderr=log,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
