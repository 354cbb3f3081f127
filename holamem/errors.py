"""Every error that domain functions raise on purpose: a stable code, a message for a person."""

from collections.abc import Mapping
from typing import Any, ClassVar


class HolamemError(Exception):
    """Base of all deliberate failures. `message` may be shown to the caller as it is."""

    code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.detail: dict[str, Any] = dict(detail or {})


class NotFound(HolamemError):
    """Absent, or not the caller's: the two are never told apart."""

    code = "not_found"


class Conflict(HolamemError):
    code = "conflict"


class Gone(HolamemError):
    """It was there, and its time has passed."""

    code = "gone"


class InvalidInput(HolamemError):
    code = "invalid"


class LimitExceeded(HolamemError):
    code = "limit_exceeded"


class PermissionDenied(HolamemError):
    code = "permission_denied"


class Unavailable(HolamemError):
    code = "unavailable"


class StorageRefused(Unavailable):
    """The body store cannot take or give a file now: nobody's fault, and worth another try."""

    code = "storage_unavailable"


class StorageFull(StorageRefused):
    code = "storage_full"


class PayloadTooLarge(HolamemError):
    code = "payload_too_large"


class ProviderError(HolamemError):
    """A model service failed.

    `retryable`: the same call may work later. `retry_after_seconds`: what the service asked for.
    The message and the detail never hold a key, a prompt or the service's own words.
    """

    code = "provider_error"

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after_seconds: float | None = None,
        field: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, field=field, detail=detail)
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds


class MalformedReply(ProviderError):
    """The model answered, but not usably; calling again at once is no remedy."""

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, retryable=False, field=field, detail=detail)


class IdempotencyMismatch(HolamemError):
    """An idempotency key came again with a different request."""

    code = "idempotency_mismatch"


class StillRunning(Conflict):
    """The first request with this idempotency key has not finished."""

    code = "still_running"
