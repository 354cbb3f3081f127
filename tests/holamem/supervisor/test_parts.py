"""Children are started apart, watched, and gone after a stop, however they behave."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holamem.database.process import command_line
from holamem.supervisor.parts import (
    Part,
    PartDied,
    give_way,
    require_alive,
    start_part,
    stop_part,
)

FORK_AND_HANG = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    print(child, flush=True)
while True:
    time.sleep(60)
"""
SLEEP = "import time; print('up', flush=True); time.sleep(60)"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Part]]:
    started = []

    def start_code(code: str) -> Part:
        command = [sys.executable, "-c", code]
        part = start_part("web", command, environment={"MARK": "1"}, logs=tmp_path)
        started.append(part)
        return part

    yield start_code
    for part in started:
        stop_part(part)


def test_a_part_leads_a_session_of_its_own(start: Callable[[str], Part]) -> None:
    part = start(SLEEP)

    assert os.getsid(part.process.pid) == part.process.pid


def test_stopping_a_part_twice_is_fine(start: Callable[[str], Part]) -> None:
    part = start(SLEEP)

    stop_part(part)
    stop_part(part)

    assert part.process.returncode is not None


def test_a_part_that_died_is_named_with_its_own_last_lines(
    start: Callable[[str], Part], tmp_path: Path
) -> None:
    (tmp_path / "web.log").write_text("from an older run\n")
    part = start("raise SystemExit('no memory left')")
    part.process.wait(20)

    with pytest.raises(PartDied, match="The web stopped with exit code 1") as caught:
        require_alive(part)
    assert "no memory left" in str(caught.value)
    assert "older run" not in str(caught.value)


def test_children_of_a_hanging_part_are_killed_in_time(start: Callable[[str], Part]) -> None:
    part = start(FORK_AND_HANG)
    orphan = int(_first_line(part.log))
    began = time.monotonic()

    stop_part(part)

    assert time.monotonic() - began < 4
    assert _wait_until(lambda: command_line(orphan) == [])


@pytest.mark.slow
def test_killing_the_supervisor_ends_the_grandchildren(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from holamem.supervisor.parts import start_part\n"
        f"start_part('web', [sys.executable, '-c', {FORK_AND_HANG!r}], environment={{}},"
        f" logs=Path({str(tmp_path)!r}))\n"
        "time.sleep(60)"
    )
    supervisor = subprocess.Popen([sys.executable, "-c", code])
    orphan = int(_first_line(tmp_path / "web.log"))

    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()

    assert _wait_until(lambda: command_line(orphan) == [])


def _first_line(log: Path) -> str:
    assert _wait_until(lambda: log.exists() and "\n" in log.read_text())
    return log.read_text().splitlines()[0]


def _wait_until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="no groups of sessions here")
def test_a_part_that_gives_way_lowers_its_whole_session(start: Callable[[str], Part]) -> None:
    part = start(SLEEP)

    give_way(part, niceness=7)

    assert Path(f"/proc/{part.process.pid}/autogroup").read_text().split()[-1] == "7"


def test_a_part_that_is_gone_need_not_give_way(start: Callable[[str], Part]) -> None:
    part = start("")
    code = part.process.wait(20)

    give_way(part, niceness=7)

    assert part.process.poll() == code
