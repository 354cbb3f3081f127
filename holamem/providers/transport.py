"""An HTTP client whose calls end: a total deadline and a cap on the bytes of a reply.

The client's own timeouts restart with every byte, so a service that sends one byte every few
seconds would hold a worker for hours. Here each read gets what is left of the whole call.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpcore2
import httpx2
import openai

DEFAULT_BASE_URL = "https://api.openai.com/v1"
# How soon a call that may be given up notices that it was, while nothing arrives.
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock."""

    ends_at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    def remaining_seconds(self) -> float:
        return max(0.0, self.ends_at - time.monotonic())


@dataclass(slots=True)
class CallBudget:
    """What one call may still use. Mutable: the stream below it counts down."""

    deadline: Deadline
    reply_bytes_left: int
    overflowed: bool = field(default=False)
    # Asked while nothing arrives; None: nobody gives this call up.
    is_cancelled: Callable[[], bool] | None = None

    def read(self, read: Callable[[float], bytes], timeout: float | None) -> bytes:
        """Wait in short turns where the call may be given up in between."""
        if self.is_cancelled is None:
            return read(self.read_timeout(timeout))
        ends = time.monotonic() + self.read_timeout(timeout)
        while True:
            if self.is_cancelled():
                raise httpcore2.ReadError("the call was given up")
            left = ends - time.monotonic()
            try:
                return read(max(0.001, min(LOOK_SECONDS, left)))
            except httpcore2.ReadTimeout:
                if left <= LOOK_SECONDS:
                    raise

    def read_timeout(self, timeout: float | None) -> float:
        left = self.deadline.remaining_seconds()
        if left <= 0:
            raise httpcore2.ReadTimeout("the deadline of the call has passed")
        return left if timeout is None else min(timeout, left)

    def spend(self, size: int) -> None:
        self.reply_bytes_left -= size
        if self.reply_bytes_left < 0:
            self.overflowed = True
            raise httpcore2.ReadError("the reply is larger than the cap")


# Not tenant state: it ties a call to the stream that the connection pool picks for it.
_current_budget: ContextVar[CallBudget | None] = ContextVar("call_budget", default=None)


@contextmanager
def call_budget(deadline: Deadline, *, reply_bytes: int) -> Iterator[CallBudget]:
    """Bound every request made inside by `deadline` and `reply_bytes` (headers included)."""
    with spending(CallBudget(deadline, reply_bytes)) as budget:
        yield budget


@contextmanager
def spending(budget: CallBudget) -> Iterator[CallBudget]:
    """The same for one part of a call that goes on afterwards."""
    token = _current_budget.set(budget)
    try:
        yield budget
    finally:
        _current_budget.reset(token)


class _BoundedStream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        budget = _current_budget.get()
        if budget is None:
            return self._inner.read(max_bytes, timeout)
        data = budget.read(lambda seconds: self._inner.read(max_bytes, seconds), timeout)
        budget.spend(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        budget = _current_budget.get()
        self._inner.write(buffer, timeout if budget is None else budget.read_timeout(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(self, *args: Any, **kwargs: Any) -> httpcore2.NetworkStream:
        return _BoundedStream(self._inner.start_tls(*args, **kwargs))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _BoundedBackend(httpcore2.SyncBackend):
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        stream = super().connect_tcp(host, port, timeout, local_address, socket_options)
        return _BoundedStream(stream)


class _BoundedTransport(httpx2.HTTPTransport):
    """Uncompressed replies only: a small compressed reply can unpack to gigabytes."""

    def __init__(self) -> None:
        super().__init__(trust_env=True)
        # The transport has no parameter for the backend of its pool; the pool itself has one.
        self._pool._network_backend = _BoundedBackend()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"
        response = super().handle_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            response.close()
            raise httpx2.RemoteProtocolError("the reply is compressed, which was not asked for")
        return response


def openai_client(api_key: str | None, base_url: str | None) -> openai.OpenAI:
    """A thread-safe client that neither retries, nor waits, nor follows redirects by itself.

    Its calls belong inside `call_budget`. Local servers need no key.
    """
    return openai.OpenAI(
        api_key=(api_key or "").strip() or "unused",
        base_url=base_url or DEFAULT_BASE_URL,
        max_retries=0,
        http_client=httpx2.Client(transport=_BoundedTransport(), follow_redirects=False),
    )
