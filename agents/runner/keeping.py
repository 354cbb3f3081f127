"""The thread that keeps a runner's leases, notices cancels, and ends what does not end by itself."""

import logging
import threading
import time
from collections.abc import Sequence

from django.db import Error as DatabaseFailure
from django.db import connection

from agents.runner.claiming import LEASE_SECONDS, look_after
from agents.runner.endings import CANCELLED
from agents.runner.handles import RunHandle
from agents.runner.steps import end_run
from agents.services.states import RunLost
from holamem.errors import HolamemError

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
RENEW_SECONDS = LEASE_SECONDS / 5
# A cancelled run whose thread is inside of something that cannot be stopped is ended without it.
GRACE_SECONDS = 0.8


class Keeper:
    """`add` and `remove` from any thread; `wake` when something may have been cancelled."""

    def __init__(self) -> None:
        self._held: dict[RunHandle, float] = {}
        self._cancelled_at: dict[RunHandle, float] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stop = False
        self._renewed_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop = True
        self._wake.set()
        self._thread.join(2)

    def wake(self) -> None:
        self._wake.set()

    def add(self, handle: RunHandle) -> None:
        with self._lock:
            self._held[handle] = time.monotonic()

    def remove(self, handle: RunHandle) -> None:
        with self._lock:
            self._held.pop(handle, None)
            self._cancelled_at.pop(handle, None)

    def held(self) -> list[RunHandle]:
        with self._lock:
            return [handle for handle in self._held if not handle.lost.is_set()]

    def _run(self) -> None:
        while not self._stop:
            self._wake.wait(LOOK_SECONDS)
            self._wake.clear()
            try:
                self._look(self.held())
            except DatabaseFailure:
                logger.warning("runner.leases_not_renewed")
                connection.close()
                self._give_up_when_too_late()
            except Exception:
                # This thread must not die: without it every run would be taken for lost.
                logger.exception("runner.keeper_failed")
        connection.close()

    def _look(self, handles: Sequence[RunHandle]) -> None:
        moment = time.monotonic()
        is_due = moment - self._renewed_at >= RENEW_SECONDS
        if handles:
            look_after(handles, renew=is_due)
        if is_due or not handles:
            self._renewed_at = moment
        for handle in handles:
            if handle.cancelled.is_set() and not handle.lost.is_set():
                self._end_if_late(handle, moment)

    def _give_up_when_too_late(self) -> None:
        """Nobody can tell us that the leases are another's by now."""
        if time.monotonic() - self._renewed_at > LEASE_SECONDS:
            for handle in self.held():
                handle.lost.set()

    def _end_if_late(self, handle: RunHandle, moment: float) -> None:
        since = self._cancelled_at.setdefault(handle, moment)
        if moment - since < GRACE_SECONDS:
            return
        # A handle of our own: the other one belongs to the thread that is late.
        own = RunHandle(handle.workspace, handle.run, handle.session)
        handle.lost.set()
        try:
            end_run(own, CANCELLED)
        except (RunLost, HolamemError):
            return  # it has ended meanwhile
        logger.info("run.ended_without_its_thread", extra={"run": str(handle.id)})
