"""Requests per key and per tenant: token buckets in this process.

One key cannot starve the others of its tenant, and one tenant with many keys not the other tenants.
To look up a key costs far more than to refuse it, so until the next token is there a key that was
refused is refused again at the door (see `holamem.http.door`).
"""

import hashlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

REQUESTS_PER_SECOND = 200.0
BURST_SECONDS = 5.0  # so much of its rate a key or a tenant may have saved up
BURST = BURST_SECONDS * REQUESTS_PER_SECOND
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

    def take(self, key: Hashable, *, at: float, per_second: float | None = None) -> float:
        """`per_second` is that of this key alone, with a burst in proportion."""
        rate = per_second or self.per_second
        burst = self.burst * rate / self.per_second
        with self._lock:
            level, since = self._levels.pop(key, (burst, at))
            level = min(burst, level + (at - since) * rate)
            allowed = level >= 1
            self._levels[key] = (level - 1 if allowed else level, at)
            if len(self._levels) > KEPT_BUCKETS:
                self._levels.popitem(last=False)
        return 0.0 if allowed else (1 - level) / rate

    def left(self, key: Hashable) -> int:
        """Whole tokens after the latest `take`."""
        with self._lock:
            level, _ = self._levels.get(key, (self.burst, 0.0))
        return int(level)


class ShutDoors:
    """Which `Authorization` headers are refused, and until when; known by their digests."""

    def __init__(self) -> None:
        self._until: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def shut(self, header: bytes, *, until: float) -> None:
        with self._lock:
            self._until[_digest(header)] = until
            if len(self._until) > KEPT_BUCKETS:
                self._until.popitem(last=False)

    def wait(self, header: bytes, *, at: float) -> float:
        """Seconds; 0.0 for who may knock."""
        if not self._until:
            return 0.0
        digest = _digest(header)
        with self._lock:
            left = self._until.get(digest, at) - at
            if left <= 0:
                self._until.pop(digest, None)
        return max(0.0, left)


def _digest(header: bytes) -> bytes:
    """Of the key alone: the scheme before it has many spellings."""
    return hashlib.sha256(header.partition(b" ")[2]).digest()


doors = ShutDoors()
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
        own = getattr(request.user, "requests_per_second", None)
        at = time.monotonic()
        self._wait = _buckets.take(key, at=at) or _tenants.take(tenant, at=at, per_second=own)
        if self._wait:
            header = str(request.META.get("HTTP_AUTHORIZATION", ""))
            doors.shut(header.encode("latin-1", "replace"), until=at + self._wait)
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
