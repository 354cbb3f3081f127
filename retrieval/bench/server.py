"""The server that is measured: one of our own on a temporary data directory, or a given one."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holamem.environment import PROJECT_DIR

STOP_SECONDS = 60
# A measured server has a database and a data directory of its own, whatever the caller has set.
_NOT_PASSED_ON = frozenset(
    {"HOLAMEM_DATABASE_URL", "HOLAMEM_DATA_DIR", "HOLAMEM_PORT", "HOLAMEM_PROCESS"}
)


class DidNotStart(RuntimeError):
    """The message holds the last words of `manage.py up`."""


@dataclass(frozen=True, slots=True)
class Target:
    """`data_dir` is None for a server that is not ours."""

    url: str
    api_key: str
    workspace: str
    data_dir: Path | None = None

    def path(self, rest: str) -> str:
        return f"/api/v1/workspaces/{self.workspace}/{rest}"


@dataclass(frozen=True, slots=True)
class Started:
    """`ready_seconds` from the start of the command to its line."""

    target: Target
    process: "subprocess.Popen[str]"
    ready_seconds: float

    def stop(self) -> float:
        """Seconds that it took; SIGKILL after STOP_SECONDS."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return time.monotonic() - began


def start(data_dir: Path, *, sample: str) -> Started:
    """Raises DidNotStart."""
    command = [
        sys.executable, str(PROJECT_DIR / "manage.py"), "up", "--json", "--sample", sample,
        "--data-dir", str(data_dir), "--port", str(_free_port()),
    ]  # fmt: skip
    began = time.monotonic()
    log = data_dir / "up.stderr"
    with log.open("w") as errors:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, env=_environment(), text=True, stdout=subprocess.PIPE, stderr=errors
        )
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        process.wait()
        raise DidNotStart(log.read_text()[-2000:])
    ready = json.loads(line)
    target = Target(ready["url"], ready["api_key"], ready["workspace"], data_dir)
    return Started(target, process, time.monotonic() - began)


@contextmanager
def temporary_data_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="holamem-bench-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)  # the database may run as another user, who passes through here
        yield Path(name)


@contextmanager
def own_server(*, sample: str) -> Iterator[Target]:
    with temporary_data_dir() as data_dir:
        started = start(data_dir, sample=sample)
        try:
            yield started.target
        finally:
            started.stop()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
