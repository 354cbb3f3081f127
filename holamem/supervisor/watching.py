"""Looks after the running parts, also while the sample is being loaded."""

import time
from collections.abc import Callable
from threading import Thread

from django.db import OperationalError, connections

from holamem.supervisor.backlog import STUCK_SECONDS, is_stuck
from holamem.supervisor.run import Machine

LOOK_SECONDS = 0.5
BACKLOG_LOOK_SECONDS = 15.0


class Watcher:
    def __init__(self, machine: Machine, *, say: Callable[[str], None]) -> None:
        self.machine = machine
        self.say = say
        self._next_backlog_look = time.monotonic() + BACKLOG_LOOK_SECONDS

    def look(self) -> None:
        """Raises PartDied; restarts a worker that stopped working."""
        self.machine.require_alive()
        if time.monotonic() < self._next_backlog_look:
            return
        self._next_backlog_look = time.monotonic() + BACKLOG_LOOK_SECONDS
        if _backlog_is_stuck():
            self.say("The worker stopped working; restarting it.")
            self.machine.restart_worker()
            # The new one gets as long as the old one had.
            self._next_backlog_look = time.monotonic() + STUCK_SECONDS

    def forever(self) -> None:
        """Until a signal or a death: raises StopRequested or PartDied, never returns."""
        while True:
            self.look()
            time.sleep(LOOK_SECONDS)

    def during(self, work: Callable[[], None]) -> None:
        """Run `work` beside the watching; what it raises must be handled inside it.

        In a daemon thread, so that a stop does not wait for it.
        """
        thread = Thread(target=work, daemon=True)
        thread.start()
        while thread.is_alive():
            self.look()
            thread.join(LOOK_SECONDS)


def _backlog_is_stuck() -> bool:
    """A database that is busy or restarting says nothing about the worker."""
    try:
        return is_stuck()
    except OperationalError:
        connections.close_all()
        return False
