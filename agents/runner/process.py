"""The process that executes runs: it claims them, gives each a thread, and sweeps behind.

Correctness never depends on a clean stop: what a killed process held is taken over when its
lease has run out.
"""

import logging
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from uuid import UUID

from django.db import Error as DatabaseFailure
from django.db import close_old_connections, connection

from agents.distill.schedule import distill_when_full
from agents.runner.claiming import claim_run, release
from agents.runner.handles import RunHandle
from agents.runner.keeping import Keeper
from agents.runner.listening import Listener
from agents.runner.sweeping import sweep
from agents.runner.turns import DATABASE_FAILED, execute
from agents.services.feeding import feed_run
from agents.services.states import is_ended

logger = logging.getLogger(__name__)

POLL_SECONDS = 2.0
SWEEP_SECONDS = 10.0
AGAIN_SECONDS = 1.0  # after an error of the database


class Runner:
    """`run` until `stop` is called, from a signal or another thread."""

    def __init__(self, *, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="run")
        self._keeper = Keeper()
        self._wake = threading.Event()
        self._listener = Listener(self._heard)
        self._lock = threading.Lock()
        self._busy: Counter[UUID] = Counter()
        # Runs that the database's failure stopped; it is told so once it is back.
        self._left: SimpleQueue[RunHandle] = SimpleQueue()
        self._is_stopping = False
        self._next_sweep = 0.0

    def stop(self) -> None:
        self._is_stopping = True
        self._wake.set()

    def run(self) -> None:
        self._keeper.start()
        self._listener.start()
        try:
            while not self._is_stopping:
                self._turn()
        finally:
            self._leave()

    def _heard(self) -> None:
        self._wake.set()
        self._keeper.wake()

    def _turn(self) -> None:
        """Claim what there is room for, sweep when it is time, then wait to be woken."""
        self._wake.clear()
        try:
            self._hand_back()
            while self._has_room() and not self._is_stopping and self._claim():
                pass
            self._sweep_when_due()
        except DatabaseFailure:
            logger.warning("runner.database_failed")
            connection.close()
            self._wake.wait(AGAIN_SECONDS)
        except Exception:
            # The runs in the other threads go on, and so does whoever claims the next one.
            logger.exception("runner.claim_failed")
            self._wake.wait(AGAIN_SECONDS)
        else:
            self._wake.wait(POLL_SECONDS)

    def _sweep_when_due(self) -> None:
        if time.monotonic() < self._next_sweep:
            return
        self._next_sweep = time.monotonic() + SWEEP_SECONDS
        try:
            sweep()
        except DatabaseFailure:
            raise
        except Exception:
            # One workspace's trouble must not keep the runs of the others from being taken.
            logger.exception("runner.sweep_failed")

    def _hand_back(self) -> None:
        while not self._left.empty():
            handle = self._left.get()
            try:
                release([handle], counts=True)
            except DatabaseFailure:
                self._left.put(handle)
                raise

    def _has_room(self) -> bool:
        with self._lock:
            return self._busy.total() < self._threads

    def _claim(self) -> bool:
        handle = claim_run(busy=self._full_workspaces())
        if handle is None:
            return False
        with self._lock:
            self._busy[handle.workspace.pk] += 1
        self._keeper.add(handle)
        self._pool.submit(self._execute, handle)
        return True

    def _full_workspaces(self) -> list[UUID]:
        """One workspace never takes every thread: others have runs, too."""
        limit = max(1, self._threads - self._threads // 4)
        with self._lock:
            return [key for key, count in self._busy.items() if count >= limit]

    def _execute(self, handle: RunHandle) -> None:
        close_old_connections()
        try:
            outcome = execute(handle)
            self._keeper.remove(handle)
            if outcome == DATABASE_FAILED:
                self._left.put(handle)
            else:
                self._feed(handle)
        except Exception:
            logger.exception("runner.run_failed", extra={"run": str(handle.id)})
        finally:
            self._keeper.remove(handle)
            close_old_connections()
            with self._lock:
                self._busy[handle.workspace.pk] -= 1
                self._busy += Counter()  # drops the zeros
            self._wake.set()

    def _feed(self, handle: RunHandle) -> None:
        """What fails here is found by the sweep."""
        if is_ended(handle.run) and not handle.lost.is_set():
            try:
                feed_run(handle.workspace, run=handle.run)
                distill_when_full(handle.workspace, run=handle.run)
            except DatabaseFailure:
                logger.warning("run.feeding_put_off", extra={"run": str(handle.id)})

    def _leave(self) -> None:
        """Runs that go on are left to whoever takes them over; their leases end at once."""
        self._listener.stop()
        self._keeper.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)
        _release(self._keeper.held())


def _release(handles: list[RunHandle]) -> None:
    try:
        release(handles)
    except DatabaseFailure:
        logger.warning("runner.leases_not_released")
