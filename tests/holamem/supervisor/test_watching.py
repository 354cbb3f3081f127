"""What runs is looked after, also while something else is waited for."""

from threading import Event

import pytest
from django.db import OperationalError

from holamem.supervisor import watching
from holamem.supervisor.parts import PartDied
from holamem.supervisor.watching import Watcher


class FakeMachine:
    def __init__(self) -> None:
        self.dead = False
        self.restarts = 0

    def require_alive(self) -> None:
        if self.dead:
            raise PartDied("The web stopped")

    def restart_worker(self) -> None:
        self.restarts += 1


@pytest.fixture
def machine() -> FakeMachine:
    return FakeMachine()


@pytest.fixture
def watcher(machine: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> Watcher:
    monkeypatch.setattr(watching, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(watching, "BACKLOG_LOOK_SECONDS", 0)
    monkeypatch.setattr(watching, "is_stuck", lambda: False)
    return Watcher(machine, say=lambda text: None)  # type: ignore[arg-type]


def test_a_death_ends_the_waiting_for_other_work(machine: FakeMachine, watcher: Watcher) -> None:
    never = Event()

    def work() -> None:
        machine.dead = True
        never.wait(60)

    with pytest.raises(PartDied):
        watcher.during(work)
    never.set()


def test_finished_work_ends_the_waiting(watcher: Watcher) -> None:
    done = []

    watcher.during(lambda: done.append(1))

    assert done == [1]


def test_a_stuck_worker_is_restarted_once_and_given_time(
    machine: FakeMachine, watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "is_stuck", lambda: True)

    watcher.look()
    watcher.look()

    assert machine.restarts == 1


def test_a_database_that_does_not_answer_is_no_reason_to_restart_the_worker(
    machine: FakeMachine, watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> bool:
        raise OperationalError

    monkeypatch.setattr(watching, "is_stuck", fail)

    watcher.look()

    assert machine.restarts == 0
