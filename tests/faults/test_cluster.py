"""`manage.py up` with parts of its worker cluster killed: the work is done, once, all the same."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from holamem.environment import PROJECT_DIR
from tests.workspaces.memory import ATLAS_FACTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

START_SECONDS = 240  # on a busy machine
DONE_SECONDS = 240  # the supervisor restarts a frozen cluster after three minutes
STOP_SECONDS = 30
WORKERS = 2


@dataclass
class Installation:
    """One data directory; `up` may be started on it again and again."""

    data_dir: Path
    port: int
    ready: dict[str, Any] = field(default_factory=dict)
    process: "subprocess.Popen[str] | None" = None

    def start(self, **variables: str) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("HOLAMEM_")}
        command = [
            *(sys.executable, str(PROJECT_DIR / "manage.py"), "up", "--json", "--sample", "none"),
            *("--data-dir", str(self.data_dir), "--port", str(self.port)),
        ]
        workers = {"HOLAMEM_WORKERS": str(WORKERS)}
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command,
                env=kept | workers | variables,
                text=True,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        line = self._first_line()
        assert line, self.log.read_text()
        self.ready = json.loads(line)

    @property
    def log(self) -> Path:
        return self.data_dir / "up.log"

    def _first_line(self) -> str:
        """What it prints when it is ready; a start that hangs is ended, which ends the line."""
        assert self.process
        assert self.process.stdout
        with ends_after(self.process, START_SECONDS):
            return self.process.stdout.readline()

    def stop(self, *signals: signal.Signals) -> int:
        assert self.process
        for number in signals:
            self.process.send_signal(number)
        code = self.process.wait(STOP_SECONDS)
        assert self.process.stdout
        self.process.stdout.close()
        return code

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
            self.process.kill()
            self.process.wait(STOP_SECONDS)

    def ask(self, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.ready['url']}/api/v1/workspaces/{self.ready['workspace']}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.ready['api_key']}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def send(self, *texts: str) -> None:
        for text in texts:
            event = {"kind": "user_message", "text": text, "admission": "accepted"}
            self.ask("/events", event)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("/status")
        return found

    def wait_until_idle(self, *, leaves: int) -> dict[str, Any]:
        wait_until(lambda: self.status()["idle"], seconds=DONE_SECONDS)
        status = self.status()
        assert (status["leaves"], status["backlog"]["parked"]) == (leaves, 0)
        return status

    def cluster(self) -> list[int]:
        """Below the sentinel, in the order of their start: workers, monitor, pusher."""
        assert self.process
        return cluster_below(self.process.pid)

    def verify(self) -> int:
        command = [sys.executable, str(PROJECT_DIR / "manage.py"), "verify"]
        kept = {k: v for k, v in os.environ.items() if not k.startswith("HOLAMEM_")}
        variables = kept | {"HOLAMEM_DATA_DIR": str(self.data_dir)}
        return subprocess.run(command, env=variables, capture_output=True, timeout=120).returncode


@contextlib.contextmanager
def ends_after(process: "subprocess.Popen[str]", seconds: float) -> Iterator[None]:
    from threading import Timer

    timer = Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def wait_until(holds: Callable[[], bool], *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.1)  # between two looks


def children_of(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid:
                found.append(int(entry.name))
    return sorted(found)


def cluster_below(pid: int) -> list[int]:
    """The children of the only process there that has as many as a sentinel."""
    for child in children_of(pid):
        if "qcluster" in command_of(child) and len(children_of(child)) == WORKERS + 2:
            return children_of(child)
        if found := cluster_below(child):
            return found
    return []


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


@pytest.fixture
def installation() -> Iterator[Installation]:
    with socket.socket() as probe, tempfile.TemporaryDirectory(prefix="holamem-up-") as name:
        Path(name).chmod(0o711)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        made = Installation(Path(name), port)
        try:
            yield made
        finally:
            made.end()


def test_a_killed_pusher_and_monitor_lose_no_work(installation: Installation) -> None:
    installation.start()
    wait_until(lambda: len(installation.cluster()) == WORKERS + 2, seconds=START_SECONDS)
    installation.send(*ATLAS_FACTS[:4])
    *_, monitor, pusher = installation.cluster()
    os.kill(pusher, signal.SIGKILL)
    installation.send(*ATLAS_FACTS[4:8])
    os.kill(monitor, signal.SIGKILL)
    installation.send(*ATLAS_FACTS[8:12])
    installation.wait_until_idle(leaves=12)
    wait_until(lambda: len(installation.cluster()) == WORKERS + 2, seconds=START_SECONDS)
    assert not {monitor, pusher} & set(installation.cluster())
    assert installation.verify() == 0


def test_a_stop_in_the_middle_of_a_job_loses_nothing(installation: Installation) -> None:
    """Two signals, of which the second comes while the first is handled; the job is being done."""
    installation.start(HOLAMEM_FAULT="leaf.after_file:sleep")
    installation.send(*ATLAS_FACTS[:2])
    wait_until(lambda: bool(bodies_in(installation.data_dir)), seconds=START_SECONDS)
    assert installation.stop(signal.SIGTERM, signal.SIGTERM) == 0
    installation.start()
    lease_runs_out(installation)
    installation.wait_until_idle(leaves=2)
    assert installation.verify() in (0, 1)  # a file without a row is a warning


def bodies_in(data_dir: Path) -> list[Path]:
    return list((data_dir / "bodies").rglob("*.md"))


def lease_runs_out(installation: Installation) -> None:
    """The sweeper comes every minute, and a lease lasts as long: both are waited for."""
    wait_until(lambda: installation.status()["leaves"] == 2, seconds=DONE_SECONDS)


TIMED_OUT = """
import django
django.setup()
from django.core.management import call_command
from django_q.conf import Conf
from holamem import faults
Conf.TIMEOUT = 2
faults.SLEEP_SECONDS = 600
call_command("qcluster")
"""


def test_a_job_that_takes_longer_than_the_queue_allows_is_ended_and_done_again(
    installation: Installation,
) -> None:
    """The cluster of `up` is stopped for it, and one with a limit of two seconds takes its place."""
    installation.start()
    wait_until(lambda: len(installation.cluster()) == WORKERS + 2, seconds=START_SECONDS)
    parts = installation.cluster()
    environment = Path(f"/proc/{parts[0]}/environ").read_text().split("\0")
    for pid in parts:
        os.kill(pid, signal.SIGSTOP)
    variables = dict(line.split("=", 1) for line in environment if "=" in line)
    with tempfile.TemporaryFile("w+") as log:
        short = subprocess.Popen(
            [sys.executable, "-c", TIMED_OUT],
            env=variables | {"HOLAMEM_FAULT": "event.taken_up:sleep"},
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=PROJECT_DIR,
            start_new_session=True,
        )
        try:
            installation.send(ATLAS_FACTS[0])
            wait_until(lambda: "after timeout" in text_of(log), seconds=START_SECONDS)
        finally:
            os.killpg(short.pid, signal.SIGKILL)
            short.wait(STOP_SECONDS)
    for pid in parts:
        os.kill(pid, signal.SIGCONT)
    status = installation.wait_until_idle(leaves=1)
    assert status["events"]["processed"] == 1
    assert installation.verify() == 0


def text_of(file: Any) -> str:
    file.seek(0)
    return str(file.read())
