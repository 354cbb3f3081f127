"""Wake-ups of a web process leave after the answer, a few for however many jobs."""

from queue import SimpleQueue
from threading import Event, Thread
from uuid import UUID, uuid4

import pytest

from holamem import queue
from holamem.environment import get_environment


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> "SimpleQueue[UUID]":
    gone: SimpleQueue[UUID] = SimpleQueue()
    monkeypatch.setattr(queue, "send_wake_up", gone.put)
    return gone


def test_many_jobs_wake_each_worker_once(
    sent: "SimpleQueue[UUID]", monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: SimpleQueue[UUID] = SimpleQueue()
    all_are_there = Event()
    monkeypatch.setattr(queue.time, "sleep", lambda _seconds: all_are_there.wait(10))
    Thread(target=queue._send_all, args=(waiting,), daemon=True).start()
    jobs = [uuid4() for _ in range(50)]
    for job in jobs:
        waiting.put(job)
    all_are_there.set()
    workers = get_environment().workers
    assert [sent.get(timeout=10) for _ in range(workers)] == jobs[:workers]
    last = uuid4()
    waiting.put(last)
    assert sent.get(timeout=10) == last
