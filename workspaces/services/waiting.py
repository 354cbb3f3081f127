"""Who may wait for an event's result: each holds a thread of the web server while it does.

Without a bound a tenant whose events cannot be judged now, at its quota for instance, could hold
all threads with a few dozen requests, and nobody else would be answered.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from holamem.environment import get_environment


class WaitingPlaces:
    """In this process: at most half of the threads wait for one tenant, three quarters for all."""

    def __init__(self, *, threads: int) -> None:
        self.for_one = max(1, threads // 2)
        self.for_all = max(1, threads * 3 // 4)
        self._lock = threading.Lock()
        self._taken: Counter[UUID] = Counter()

    @contextmanager
    def place(self, tenant_id: UUID) -> Iterator[bool]:
        """False when there is none left; then nothing is taken."""
        is_free = self._take(tenant_id)
        try:
            yield is_free
        finally:
            if is_free:
                self._give_back(tenant_id)

    def _take(self, tenant_id: UUID) -> bool:
        with self._lock:
            is_full = self._taken[tenant_id] >= self.for_one
            if is_full or self._taken.total() >= self.for_all:
                return False
            self._taken[tenant_id] += 1
            return True

    def _give_back(self, tenant_id: UUID) -> None:
        with self._lock:
            self._taken[tenant_id] -= 1
            if not self._taken[tenant_id]:
                del self._taken[tenant_id]


places = WaitingPlaces(threads=get_environment().web_threads)
