"""One call to a model service: its errors translated, its retries bounded."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

import httpx2
import openai

from holamem.errors import MalformedReply, ProviderError
from holamem.providers.transport import CallBudget, Deadline, call_budget

MAX_ATTEMPTS = 3
BACKOFF_SECONDS = 0.5  # doubles with each attempt, then full jitter
MAX_PAUSE_SECONDS = 10.0  # a longer wait belongs to the job ledger, not to a sleeping worker
MAX_RETRY_AFTER_SECONDS = 600.0
CONNECT_SECONDS = 5.0
REFUSED_STATUSES = frozenset({400, 413, 422, 501})
RETRYABLE_STATUSES = frozenset({408, 409, 425, 429})

Result = TypeVar("Result")


class RequestRefused(ProviderError):
    """The service understood the call and turned this request down.

    `service_text` is for deciding what to leave out next time and nothing else: it may quote the
    prompt or the key, so it never enters a message, a detail or a log.
    """

    def __init__(self, message: str, *, status: int, service_text: str) -> None:
        super().__init__(message, detail={"kind": "refused_request", "status": status})
        self.service_text = service_text


def call_with_retries(
    call: Callable[[httpx2.Timeout], Result],
    *,
    deadline: Deadline,
    reply_bytes: int,
    pause: Callable[[float], None] = time.sleep,
) -> Result:
    """Call until it works, at most MAX_ATTEMPTS times and never past the deadline.

    Raises ProviderError; RequestRefused when the request itself is at fault; MalformedReply when
    the reply is longer than `reply_bytes`.
    """
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            return _call_once(call, deadline, reply_bytes)
        except ProviderError as error:
            wait = wait_seconds(error, attempt)
            affordable = wait < min(MAX_PAUSE_SECONDS, deadline.remaining_seconds())
            if not error.retryable or attempt == MAX_ATTEMPTS or not affordable:
                raise
            pause(wait)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _call_once(
    call: Callable[[httpx2.Timeout], Result], deadline: Deadline, reply_bytes: int
) -> Result:
    left = deadline.remaining_seconds()
    if left <= 0:
        raise timed_out()
    timeout = httpx2.Timeout(left, connect=min(CONNECT_SECONDS, left))
    with call_budget(deadline, reply_bytes=reply_bytes) as budget, translated_errors(budget):
        return call(timeout)


def wait_seconds(error: ProviderError, attempt: int) -> float:
    if error.retry_after_seconds is not None:
        return error.retry_after_seconds
    return random.uniform(0, BACKOFF_SECONDS * 2**attempt)  # noqa: S311 - jitter, not a secret


@contextmanager
def translated_errors(budget: CallBudget) -> Iterator[None]:
    """Raises `from None`: the client's errors can quote headers, and tracebacks reach the logs."""
    try:
        yield
    except openai.APIStatusError as error:
        raise _from_status(error) from None
    except (openai.APIConnectionError, httpx2.RequestError):
        raise _from_connection(budget) from None
    except openai.OpenAIError:
        raise unusable_reply("unreadable") from None
    except (UnicodeError, TypeError):
        raise ProviderError(
            "The request to the model service could not be encoded.", detail={"kind": "unsendable"}
        ) from None
    except ValueError:
        raise unusable_reply("unreadable") from None


def _from_status(error: openai.APIStatusError) -> ProviderError:
    status = error.status_code
    if status in REFUSED_STATUSES:
        return RequestRefused(
            f"The model service refused the request (status {status}).",
            status=status,
            service_text=f"{error.message} {error.body}",
        )
    if status in (401, 403):
        return ProviderError(
            f"The model service refused the key (status {status}).",
            detail={"kind": "key_refused", "status": status},
        )
    return ProviderError(
        f"The model service answered with status {status}.",
        retryable=status in RETRYABLE_STATUSES or status >= 500,
        retry_after_seconds=_retry_after_seconds(error.response.headers),
        detail={"kind": "status", "status": status},
    )


def _from_connection(budget: CallBudget) -> ProviderError:
    if budget.overflowed:
        return unusable_reply("too_large")
    if budget.deadline.remaining_seconds() <= 0:
        return timed_out()
    return ProviderError(
        "The model service could not be reached.", retryable=True, detail={"kind": "connection"}
    )


def timed_out() -> ProviderError:
    return ProviderError(
        "The model service did not answer in time.", retryable=True, detail={"kind": "timeout"}
    )


def unusable_reply(kind: str) -> MalformedReply:
    return MalformedReply(
        f"The reply of the model service could not be used ({kind}).", detail={"kind": kind}
    )


def _retry_after_seconds(headers: httpx2.Headers) -> float | None:
    """Seconds or an HTTP date (RFC 9110, 10.2.3), capped; None when absent or unreadable."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        # Cut first: int() of a very long digit string is an error of its own.
        return min(float(text[:9]), MAX_RETRY_AFTER_SECONDS)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = (moment - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS)
