"""The guard answers for its child, and takes the child's whole session with it when told to."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from holamem.supervisor import guard
from holamem.supervisor.guard import Guard

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)


@pytest.fixture(autouse=True)
def handlers_of_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Process groups that would have been killed; 0 is the own one."""
    groups: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda group, number: groups.append(group))
    return groups


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def test_the_exit_code_of_the_child_is_passed_on(kills: list[int]) -> None:
    assert Guard().run(python("raise SystemExit(3)")) == 3
    assert kills == []


def test_told_to_stop_it_stops_the_child_and_then_the_session(kills: list[int]) -> None:
    told = python("import os, signal; os.kill(os.getppid(), signal.SIGTERM); signal.pause()")
    assert Guard().run(told) == -signal.SIGTERM
    assert kills == [0]


def test_told_to_stop_before_the_child_started_it_stops_it_at_once(kills: list[int]) -> None:
    stopped = Guard()
    stopped.stopping = True
    assert stopped.run(python("import signal; signal.pause()")) == -signal.SIGTERM
    assert kills == [0]


def test_a_child_that_does_not_stop_in_time_is_killed_with_its_session(
    kills: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "GRACE_SECONDS", 0.05)
    hung = Guard()

    def kill_child(group: int, number: int) -> None:
        kills.append(group)
        assert hung.child is not None
        hung.child.kill()

    monkeypatch.setattr(os, "killpg", kill_child)
    ignoring = python(
        "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        " os.kill(os.getppid(), signal.SIGTERM)\nwhile True: signal.pause()"
    )
    assert hung.run(ignoring) == -signal.SIGKILL
    assert kills[0] == 0
