"""How requests are built, when they are sent again, and what an answer means."""

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx2

from holamem.client.answers import Me
from holamem.client.errors import (
    ApiError,
    BadAnswer,
    NotAuthenticated,
    NotConfigured,
    Unreachable,
    error_of,
)
from holamem.client.operations import Operation, Reply
from holamem.version import VERSION

URL_VARIABLE, DEFAULT_URL = "HOLAMEM_URL", "http://127.0.0.1:8000"
KEY_VARIABLE = "HOLAMEM_API_KEY"
WORKSPACE_VARIABLE = "HOLAMEM_WORKSPACE"
TIMEOUT_SECONDS = 30.0
ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 20.0
# Over soon, or said to be: a limit, a restart, a proxy without its server.
PASSING = frozenset({429, 502, 503, 504})
STILL_RUNNING = "still_running"
# What sending a request and reading its answer may raise.
FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, ApiError)


@dataclass(frozen=True)
class Connection:
    """Where to, as whom, and for which workspace; what is not given comes from the environment."""

    url: str = field(default_factory=lambda: os.environ.get(URL_VARIABLE) or DEFAULT_URL)
    api_key: str = field(default_factory=lambda: os.environ.get(KEY_VARIABLE, ""), repr=False)
    workspace: str = field(default_factory=lambda: os.environ.get(WORKSPACE_VARIABLE, ""))
    timeout: float = TIMEOUT_SECONDS
    attempts: int = ATTEMPTS

    def options(self) -> dict[str, Any]:
        """For the HTTP client. Raises NotConfigured without a key."""
        if not self.api_key:
            raise NotConfigured(f"An API key is needed: give one, or set {KEY_VARIABLE}.")
        if not self.api_key.isascii() or not self.api_key.isprintable():
            raise NotAuthenticated("The API key is not valid.", status=401)
        headers = {
            "Authorization": f"Bearer {self.api_key}",
            "User-Agent": f"holamem-client/{VERSION}",
            "Accept": "application/json",
        }
        return {"base_url": self.url.rstrip("/"), "headers": headers, "timeout": self.timeout}


def request_options(operation: Operation[Any], *, workspace: str, timeout: float) -> dict[str, Any]:
    prefix = (
        f"/api/v1/workspaces/{quote(workspace, safe='')}/" if operation.in_workspace else "/api/v1/"
    )
    options: dict[str, Any] = {
        "method": operation.method,
        "url": prefix + operation.path,
        "timeout": timeout + operation.wait_seconds,
    }
    if operation.query:
        options["params"] = dict(operation.query)
    if operation.body is not None:
        options["json"] = operation.body
    if operation.idempotency_key is not None:
        options["headers"] = {"Idempotency-Key": operation.idempotency_key}
    return options


def reply_of(response: httpx2.Response) -> Reply:
    """Raises ApiError for every status from 300 on, BadAnswer for what is no JSON."""
    if response.status_code >= 300:
        raise error_of(
            response.status_code,
            _problem(response),
            retry_after=_seconds(response.headers.get("Retry-After")),
            request_id=response.headers.get("X-Request-ID", ""),
        )
    is_replayed = response.headers.get("Idempotent-Replayed") == "true"
    return Reply(response.status_code, _json(response), is_replayed)


def pause_before_retry(error: Exception, *, attempt: int) -> float | None:
    """Seconds until the next attempt, or None when another one would be no use.

    `attempt` counts from 1. Every operation may be sent again: reads change nothing, and a
    write's key makes the server answer it once.
    """
    if isinstance(error, httpx2.TransportError):
        return _backoff(attempt)
    if not isinstance(error, ApiError):
        return None
    if error.status not in PASSING and error.code != STILL_RUNNING:
        return None
    asked = error.retry_after
    if asked is not None and asked > LONGEST_PAUSE_SECONDS:
        return None  # the caller decides whether to wait that long
    return max(asked or 0.0, _backoff(attempt))


def final_error(error: Exception) -> Exception:
    """What is raised after the last attempt."""
    if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL):
        return Unreachable(f"The server does not answer ({type(error).__name__}).")
    return error


def workspace_of(me: Me) -> str:
    """Raises NotConfigured when the key is bound to none."""
    if me.workspace is None:
        raise NotConfigured(f"This key is bound to no workspace: set {WORKSPACE_VARIABLE}.")
    return me.workspace.slug


def _backoff(attempt: int) -> float:
    """Doubling, with a random part so that many clients do not come back together."""
    spread = random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
    pause: float = FIRST_PAUSE_SECONDS * 2 ** (attempt - 1) * spread
    return min(pause, LONGEST_PAUSE_SECONDS)


def _problem(response: httpx2.Response) -> Mapping[str, Any]:
    try:
        found = response.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise BadAnswer("The answer is no JSON.") from error


def _seconds(header: str | None) -> float | None:
    try:
        return None if header is None else max(0.0, float(header))
    except ValueError:
        return None
