"""Every failure of an API route as application/problem+json (RFC 9457), never as HTML."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

from django.core.exceptions import BadRequest, RequestDataTooBig
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt
from psycopg.errors import DiskFull
from rest_framework import exceptions
from rest_framework.response import Response

from holamem import errors

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
API_PREFIX = "/api"
MCP_PATH = "/mcp"
RETRY_SECONDS = 1  # an outage or a running twin is usually over within a second
FIELD_CHARACTERS = 200  # a field's name may come from the caller
NO_ADDRESS = "There is nothing at this address."
TITLES = {
    400: "Bad request",
    401: "Authentication failed",
    403: "Permission denied",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    409: "Conflict",
    410: "Gone",
    413: "Content too large",
    415: "Unsupported media type",
    422: "Unprocessable content",
    429: "Too many requests",
    500: "Internal error",
    503: "Unavailable",
    507: "Insufficient storage",
}
STATUS_OF_ERROR: dict[type[errors.HolamemError], int] = {
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Gone: 410,
    errors.InvalidInput: 400,
    errors.LimitExceeded: 429,
    errors.PermissionDenied: 403,
    errors.Unavailable: 503,
    errors.StorageFull: 507,
    errors.PayloadTooLarge: 413,
    errors.IdempotencyMismatch: 422,
    errors.ProviderError: 503,
}
# Codes of our own fields that make a validation failure more than a 400.
STATUS_OF_CODE = {"text_too_large": 413}
# One word for one mistake, whichever library found it.
CODE_OF_MODEL = {
    "extra_forbidden": "unknown_field",
    "missing": "required",
    "timezone_aware": "timezone_required",
}


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """`field` is a path such as `events[3].text`; empty when the whole request is meant."""

    field: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    status: int
    code: str
    detail: str
    errors: Sequence[FieldProblem] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self, instance: str) -> dict[str, Any]:
        """The members of the document; `errors` always holds at least the code itself."""
        listed = self.errors or [FieldProblem("", self.code, self.detail)]
        return {
            "type": f"urn:holamem:problem:{self.code}",
            "title": TITLES.get(self.status, "Error"),
            "status": self.status,
            "detail": self.detail,
            "instance": instance,
            "errors": [
                {"field": printable(item.field), "code": item.code, "message": item.message}
                for item in listed
            ],
        }


class RequestRefused(Exception):
    """A request that was refused before any domain function saw it."""

    def __init__(self, problems: Sequence[FieldProblem], *, status: int = 400) -> None:
        super().__init__(problems[0].code)
        self.problems = list(problems)
        self.status = status


def refuse(code: str, message: str, *, field: str = "", status: int = 400) -> RequestRefused:
    return RequestRefused([FieldProblem(field, code, message)], status=status)


def printable(name: str) -> str:
    """A caller's name made safe to print: escapes for what cannot be shown or encoded."""
    shown = name[:FIELD_CHARACTERS]
    if shown.isprintable():
        return shown
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in shown)


def problem_response(error: Exception, context: Mapping[str, Any]) -> Response:
    """The exception handler of every API view. What nobody foresaw is a logged 500."""
    problem = describe(error)
    return Response(
        problem.body(context["request"].path),
        status=problem.status,
        headers=dict(problem.headers),
        content_type=CONTENT_TYPE,
    )


@singledispatch
def describe(error: Exception) -> Problem:
    logger.error("request failed", exc_info=error)
    return Problem(500, "internal_error", "The server failed on this request.")


@describe.register
def _(error: RequestRefused) -> Problem:
    first = error.problems[0]
    return Problem(error.status, first.code, first.message, error.problems)


@describe.register
def _(error: errors.HolamemError) -> Problem:
    status = next(
        (STATUS_OF_ERROR[kind] for kind in type(error).__mro__ if kind in STATUS_OF_ERROR), 500
    )
    if status == 500:
        logger.error("unmapped error", exc_info=error)
        return Problem(500, "internal_error", "The server failed on this request.")
    code = str(error.detail.get("code", error.code))
    listed = _listed(error) or [FieldProblem(_field_path(error), code, error.message)]
    return Problem(status, code, error.message, listed, _retry_headers(error, status=status))


def _listed(error: errors.HolamemError) -> list[FieldProblem]:
    """The problems of each field, where the domain found several at once."""
    return [
        FieldProblem(
            str(item["field"]), CODE_OF_MODEL.get(item["code"], item["code"]), str(item["message"])
        )
        for item in error.detail.get("errors", ())
    ]


def _field_path(error: errors.HolamemError) -> str:
    """`events[3].text` for an error about one draft of a batch."""
    index, name = error.detail.get("index"), error.field or ""
    if index is None or error.detail.get("batch") is None:
        return name
    position = f"{error.detail['batch']}[{index}]"
    return f"{position}.{name}" if name else position


def _retry_headers(error: errors.HolamemError, *, status: int) -> dict[str, str]:
    wait = getattr(error, "retry_after_seconds", None) or error.detail.get("retry_after_seconds")
    if wait is None and (status in (429, 503) or isinstance(error, errors.StillRunning)):
        wait = RETRY_SECONDS
    return {} if wait is None else {"Retry-After": str(max(1, round(float(wait))))}


@describe.register
def _(error: exceptions.ValidationError) -> Problem:
    listed = list(_flattened(error.detail, path=""))
    status = next((STATUS_OF_CODE[p.code] for p in listed if p.code in STATUS_OF_CODE), 400)
    return Problem(status, listed[0].code, listed[0].message, listed)


def _flattened(detail: Any, *, path: str) -> Iterator[FieldProblem]:
    """DRF's nested lists and dicts of errors as field paths, in the order of the fields."""
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            yield from _flattened(value, path=_joined(path, key))
    elif isinstance(detail, list):
        for index, value in enumerate(detail):
            nested = isinstance(value, Mapping)
            yield from _flattened(value, path=f"{path}[{index}]" if nested else path)
    else:
        yield FieldProblem(path, getattr(detail, "code", "invalid"), str(detail))


def _joined(path: str, key: object) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    if key == "non_field_errors":
        return path
    return f"{path}.{key}" if path else str(key)


@describe.register
def _(error: exceptions.APIException) -> Problem:
    code = error.get_codes()
    headers = {}
    if isinstance(error, exceptions.AuthenticationFailed | exceptions.NotAuthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="holamem"'
    if isinstance(error, exceptions.Throttled):
        headers["Retry-After"] = str(max(1, round(getattr(error, "wait", None) or RETRY_SECONDS)))
    return Problem(error.status_code, str(code), _sentence(error), (), headers)


def _sentence(error: exceptions.APIException) -> str:
    """DRF's own words repeat the caller's method and media type; ours do not."""
    if isinstance(error, exceptions.MethodNotAllowed):
        return "This address does not take this method."
    if isinstance(error, exceptions.UnsupportedMediaType):
        return "The content type must be application/json."
    return str(error.detail)


@describe.register
def _(error: Http404) -> Problem:
    return Problem(404, "not_found", NO_ADDRESS)


@describe.register
def _(error: DjangoPermissionDenied) -> Problem:
    return Problem(403, "permission_denied", "This is not allowed.")


@describe.register
def _(error: RequestDataTooBig) -> Problem:
    return Problem(413, "payload_too_large", "The body is too large.")


@describe.register(OperationalError)
@describe.register(InterfaceError)
def _(error: Exception) -> Problem:
    logger.error("database unavailable", exc_info=error)
    if isinstance(error.__cause__, DiskFull):
        return Problem(507, "storage_full", "The disk of the database is full.")
    return Problem(
        503,
        "unavailable",
        "The database does not answer.",
        headers={"Retry-After": str(RETRY_SECONDS)},
    )


def is_api(request: HttpRequest) -> bool:
    return request.path == API_PREFIX or request.path.startswith(f"{API_PREFIX}/")


def plain_problem(request: HttpRequest, problem: Problem) -> HttpResponse:
    """A problem outside of DRF: Django's own handlers and the health routes."""
    return JsonResponse(
        problem.body(request.path),
        status=problem.status,
        headers=dict(problem.headers),
        content_type=CONTENT_TYPE,
    )


@csrf_exempt
def api_not_found(request: HttpRequest, **_: str) -> HttpResponse:
    """For addresses under /api that no route knows; also with DEBUG, which answers in HTML."""
    return plain_problem(request, Problem(404, "not_found", NO_ADDRESS))


def handle_bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not is_api(request):
        return defaults.bad_request(request, exception)
    if isinstance(exception, RequestDataTooBig):
        return plain_problem(request, describe(exception))
    code = "bad_request" if isinstance(exception, BadRequest) else "suspicious_request"
    return plain_problem(request, Problem(400, code, "The request is not valid."))


def handle_permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not is_api(request):
        return defaults.permission_denied(request, exception)
    return plain_problem(request, Problem(403, "permission_denied", "This is not allowed."))


def handle_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not is_api(request):
        return defaults.page_not_found(request, exception)
    return api_not_found(request)


def handle_server_error(request: HttpRequest) -> HttpResponse:
    """Django has logged the exception already."""
    if not is_api(request):
        return defaults.server_error(request)
    return plain_problem(
        request, Problem(500, "internal_error", "The server failed on this request.")
    )
