"""A backup of the running product, while people write, restored where nothing was before."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from holamem.environment import PROJECT_DIR

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # it starts the product three times

SECONDS = 240
FACTS = 60  # that are written at most while the backup is made
PEOPLE = ("Ines", "Omar", "Lina", "Mara", "Noor", "Pavel", "Rosa", "Sven", "Tariq", "Uma")
PLACES = ("payroll", "billing", "search", "storage", "login", "mail", "reports", "exports")
QUESTIONS = ("Who looks after payroll?", "Who looks after billing?", "谁负责仓库系统？")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="holamem-backup-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


def environment(data_dir: Path) -> dict[str, str]:
    """Nothing of the test run's own, whose database is another one."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("HOLAMEM_")}
    return {**variables, "HOLAMEM_DATA_DIR": str(data_dir)}


def answer(data_dir: Path, *arguments: str) -> dict[str, Any]:
    result = subprocess.run(
        [sys.executable, "manage.py", *arguments, "--json"],
        cwd=PROJECT_DIR,
        env=environment(data_dir),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


@contextmanager
def running(data_dir: Path) -> Iterator[dict[str, Any]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, "manage.py", "up", "--port", port, "--sample", "none", "--json"]
    process = subprocess.Popen(
        command, cwd=PROJECT_DIR, env=environment(data_dir), text=True, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout
        yield json.loads(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


class Caller:
    """The public API, with the key of the old installation."""

    def __init__(self, url: str, key: str) -> None:
        self._client = httpx2.Client(
            base_url=f"{url}/api/v1/workspaces/main",
            headers={"Authorization": f"Bearer {key}"},
            timeout=60,
        )

    def write(self, text: str) -> str:
        """Returns the id of the event, once it is acknowledged."""
        body = {"kind": "user_message", "text": text, "admission": "accepted"}
        response = self._client.post("/events", json=body)
        assert response.is_success, response.text
        return str(response.json()["event_id"])

    def leaves_of(self, event_id: str) -> list[str]:
        """Waits until the event was judged."""
        for _ in range(600):
            event = self._client.get(f"/events/{event_id}").json()
            if event["status"] == "processed":
                return [chunk["leaf_id"] for chunk in event["chunks"] if chunk["leaf_id"]]
            threading.Event().wait(0.1)
        raise AssertionError(f"{event_id} was not judged")

    def holds(self, event_id: str) -> bool:
        return bool(self._client.get(f"/events/{event_id}").status_code == 200)

    def evidence(self, question: str) -> list[str]:
        found = self._client.post("/memory/retrieve", json={"query": question}).json()
        return [item["node_id"] for item in found["evidence"]]


def facts() -> Iterator[str]:
    """About nothing that is asked for: what is written meanwhile changes no answer."""
    for number in range(FACTS):
        yield f"Depot {number} of the railway opens at {number % 24}:00."


@contextmanager
def writing(caller: Caller) -> Iterator[list[str]]:
    """Someone goes on writing meanwhile; the list grows with what was acknowledged."""
    acknowledged: list[str] = []
    stop = threading.Event()

    def write() -> None:
        for fact in facts():
            if stop.is_set():
                return
            acknowledged.append(caller.write(fact))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield acknowledged
    finally:
        stop.set()
        writer.join()


def test_what_was_acknowledged_before_the_snapshot_comes_back(folder: Path) -> None:
    old, new = folder / "old", folder / "new"
    with running(old) as machine:
        caller, key = Caller(machine["url"], machine["api_key"]), machine["api_key"]
        before = [caller.write(f"{name} looks after {place}.") for name, place in pairs()]
        before.append(caller.write("王芳负责仓库系统，电话另行通知。"))
        leaves = [caller.leaves_of(event_id) for event_id in before]
        with writing(caller) as acknowledged:
            early = wait_for_some(acknowledged)
            made = answer(old, "backup", "--to", str(folder))
    assert made["problems"] == []
    restored = answer(new, "restore", "--from", made["path"], "--journal", str(old))
    assert (restored["rows"], restored["files"]) == (made["rows"], made["files"])
    assert restored["findings"] == []
    answers = {}
    for data_dir in (old, new):
        with running(data_dir) as machine:
            caller = Caller(machine["url"], key)
            assert all(caller.holds(event_id) for event_id in (*before, *early))
            assert [caller.leaves_of(event_id) for event_id in before] == leaves
            assert all(caller.leaves_of(event_id) for event_id in early)
            answers[data_dir] = [caller.evidence(question)[:1] for question in QUESTIONS]
    assert answers[new] == answers[old]
    assert answers[new] == [[leaves[0][0]], [leaves[1][0]], [leaves[-1][0]]]


def pairs() -> list[tuple[str, str]]:
    return list(zip(PEOPLE, PLACES, strict=False))


def wait_for_some(acknowledged: list[str]) -> list[str]:
    """Events that were taken in before the backup begins, judged or not."""
    for _ in range(600):
        if len(acknowledged) >= 5:
            return list(acknowledged)
        threading.Event().wait(0.1)
    raise AssertionError("nothing was written")
