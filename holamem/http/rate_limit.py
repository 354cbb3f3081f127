"""Requests per key: a token bucket in this process, so that one key cannot starve the others."""

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

REQUESTS_PER_SECOND = 200.0
BURST = 1000.0
KEPT_BUCKETS = 10_000  # the least recently used are full again anyway


class TokenBuckets:
    """`take` answers 0.0 when a token was there, else the seconds until the next one."""

    def __init__(self, *, per_second: float, burst: float) -> None:
        self.per_second = per_second
        self.burst = burst
        self._levels: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: Hashable, *, at: float) -> float:
        with self._lock:
            level, since = self._levels.pop(key, (self.burst, at))
            level = min(self.burst, level + (at - since) * self.per_second)
            allowed = level >= 1
            self._levels[key] = (level - 1 if allowed else level, at)
            if len(self._levels) > KEPT_BUCKETS:
                self._levels.popitem(last=False)
        return 0.0 if allowed else (1 - level) / self.per_second


_buckets = TokenBuckets(per_second=REQUESTS_PER_SECOND, burst=BURST)


class KeyRateThrottle(BaseThrottle):
    """429 with Retry-After; requests without a key were refused before."""

    def __init__(self) -> None:
        self._wait = 0.0

    def allow_request(self, request: Request, view: APIView) -> bool:
        key = getattr(request.user, "key_id", None)
        if key is None:
            return True
        self._wait = _buckets.take(key, at=time.monotonic())
        return self._wait == 0.0

    def wait(self) -> float | None:
        return self._wait
