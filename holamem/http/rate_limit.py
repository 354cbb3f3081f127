"""Requests per key and per tenant: token buckets in this process.

One key cannot starve the others of its tenant, and one tenant with many keys not the other tenants.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

REQUESTS_PER_SECOND = 200.0
BURST = 1000.0
KEYS_AT_ONCE = 2  # so many keys of one tenant may use their whole share
LEFT = "holamem.rate_left"  # in the environment of a request
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

    def left(self, key: Hashable) -> int:
        """Whole tokens after the latest `take`."""
        with self._lock:
            level, _ = self._levels.get(key, (self.burst, 0.0))
        return int(level)


_buckets = TokenBuckets(per_second=REQUESTS_PER_SECOND, burst=BURST)
_tenants = TokenBuckets(per_second=KEYS_AT_ONCE * REQUESTS_PER_SECOND, burst=KEYS_AT_ONCE * BURST)


class KeyRateThrottle(BaseThrottle):
    """429 with Retry-After; requests without a key were refused before."""

    def __init__(self) -> None:
        self._wait = 0.0

    def allow_request(self, request: Request, view: APIView) -> bool:
        key = getattr(request.user, "key_id", None)
        if key is None:
            return True
        tenant = getattr(request.user, "tenant_id", None)
        at = time.monotonic()
        self._wait = _buckets.take(key, at=at) or _tenants.take(tenant, at=at)
        left = 0 if self._wait else min(_buckets.left(key), _tenants.left(tenant))
        request._request.META[LEFT] = left
        return self._wait == 0.0

    def wait(self) -> float | None:
        return self._wait


def rate_headers(request: Request) -> dict[str, str]:
    """What is left of the burst, and after how long it is whole again; empty without a key."""
    left = request._request.META.get(LEFT)
    if left is None:
        return {}
    refill = math.ceil((_buckets.burst - left) / _buckets.per_second)
    return {
        "RateLimit-Limit": str(int(_buckets.burst)),
        "RateLimit-Remaining": str(left),
        "RateLimit-Reset": str(max(0, refill)),
    }
