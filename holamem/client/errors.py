"""What may go wrong, by what the caller can do about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class ClientError(Exception):
    """Base of everything that this client raises on purpose."""


class NotConfigured(ClientError):
    """No key, or no workspace where the key is bound to none."""


class Unreachable(ClientError):
    """The server did not answer, after every retry. A write may or may not have happened."""


class BadAnswer(ClientError):
    """The server answered something that is no answer of this API."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """`field` is a path such as `events[3].text`; empty when the whole request is meant."""

    field: str
    code: str
    message: str


class ApiError(ClientError):
    """The server refused: a problem document with its errors by field."""

    statuses: ClassVar[Sequence[int]] = ()

    def __init__(
        self,
        detail: str,
        *,
        status: int,
        errors: Sequence[FieldError] = (),
        retry_after: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.errors = tuple(errors)
        self.retry_after = retry_after
        self.request_id = request_id

    @property
    def code(self) -> str:
        return self.errors[0].code if self.errors else "error"


class InvalidRequest(ApiError):
    statuses = (400, 413, 415, 422)


class NotAuthenticated(ApiError):
    statuses = (401,)


class NotPermitted(ApiError):
    statuses = (403,)


class NotFound(ApiError):
    """Absent, or not this key's: the two are never told apart."""

    statuses = (404,)


class Conflict(ApiError):
    statuses = (409,)


class RateLimited(ApiError):
    statuses = (429,)


class ServerFailed(ApiError):
    statuses = (500, 502, 503, 504, 507)


_KINDS: Sequence[type[ApiError]] = (
    InvalidRequest,
    NotAuthenticated,
    NotPermitted,
    NotFound,
    Conflict,
    RateLimited,
    ServerFailed,
)


def error_of(
    status: int, problem: Mapping[str, Any], *, retry_after: float | None, request_id: str
) -> ApiError:
    """From a problem document; a proxy's own page has none, and only its status counts."""
    kind = next((kind for kind in _KINDS if status in kind.statuses), ApiError)
    listed = problem.get("errors")
    errors = [
        FieldError(str(item.get("field", "")), str(item.get("code", "")), str(item.get("message")))
        for item in (listed if isinstance(listed, list) else ())
        if isinstance(item, Mapping)
    ]
    detail = str(problem.get("detail") or f"The server answered {status}.")
    return kind(
        detail, status=status, errors=errors, retry_after=retry_after, request_id=request_id
    )
