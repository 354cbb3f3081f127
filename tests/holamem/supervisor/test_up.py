"""`manage.py up` as a person or a script runs it."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from holamem.database.layout import Layout
from holamem.database.process import server_pid
from holamem.environment import PROJECT_DIR

pytestmark = pytest.mark.slow


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="holamem-up-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _up(data_dir: Path, port: int) -> subprocess.Popen[str]:
    variables = {k: v for k, v in os.environ.items() if not k.startswith("HOLAMEM_")}
    command = [
        sys.executable, str(PROJECT_DIR / "manage.py"), "up", "--data-dir", str(data_dir),
        "--port", str(port), "--sample", "none", "--json",
    ]  # fmt: skip
    return subprocess.Popen(
        command, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_it_prints_one_line_serves_and_stops_within_ten_seconds(data_dir: Path, port: int) -> None:
    process = _up(data_dir, port)
    assert process.stdout
    ready = json.loads(process.stdout.readline())
    with urllib.request.urlopen(f"{ready['url']}/healthz") as answer:
        status = answer.status
    began = time.monotonic()

    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=15)

    assert status == 200
    assert set(ready) == {
        "url", "api_key", "workspace", "admin_user", "admin_password", "pid",
    }  # fmt: skip
    assert ready["pid"] == process.pid
    assert {log.stem for log in (data_dir / "logs").iterdir()} >= {"web", "worker", "runner"}
    assert time.monotonic() - began < 10
    assert process.returncode == 0
    assert rest == ""
    assert server_pid(Layout(data_dir)) is None


def test_it_says_which_part_died_and_stops_the_rest(data_dir: Path, port: int) -> None:
    process = _up(data_dir, port)
    assert process.stdout
    process.stdout.readline()
    os.kill(server_pid(Layout(data_dir)) or 0, signal.SIGKILL)

    _, errors = process.communicate(timeout=20)

    assert process.returncode == 1
    assert "The database stopped" in errors


def test_a_port_in_use_is_said_before_anything_starts(data_dir: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = _up(data_dir, taken.getsockname()[1])
        _, errors = process.communicate(timeout=60)

    assert process.returncode == 1
    assert "is in use" in errors
    assert not (data_dir / "postgres").exists()
