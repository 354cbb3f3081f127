"""The pieces around the views: request ids, body limit, rate limit, problems."""

import asyncio
import json
import logging
from typing import Any

import pytest
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from rest_framework.test import APIRequestFactory

from holamem import errors, logs
from holamem.http.body_limit import BodyLimit
from holamem.http.problems import describe, problem_response
from holamem.http.rate_limit import TokenBuckets
from holamem.http.request_id import HEADER, RequestIdMiddleware


def test_a_request_gets_an_id_that_its_log_lines_share() -> None:
    seen: list[str] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(logs.request_id.get())
        return HttpResponse()

    response = RequestIdMiddleware(view)(HttpRequest())
    assert isinstance(response, HttpResponse)
    assert seen == [response[HEADER]]
    assert len(seen[0]) == 32
    assert logs.request_id.get() == ""


@pytest.mark.parametrize(
    ("given", "kept"), [("trace-7.a_B", True), ("a\r\nSet-Cookie: x", False), ("x" * 101, False)]
)
def test_a_callers_own_id_is_kept_when_it_is_harmless(given: str, kept: bool) -> None:
    request = HttpRequest()
    request.META["HTTP_X_REQUEST_ID"] = given
    response = RequestIdMiddleware(lambda _: HttpResponse())(request)
    assert (response[HEADER] == given) is kept  # type: ignore[index]


def test_an_async_application_gets_request_ids_too() -> None:
    async def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(logs.request_id.get())

    async def call() -> Any:
        answer = RequestIdMiddleware(view)(HttpRequest())
        return await answer  # type: ignore[misc]

    response = asyncio.run(call())
    assert response.content.decode() == response[HEADER]


def serve(
    chunks: list[bytes], *, headers: list[tuple[bytes, bytes]], path: str = "/api/v1/me"
) -> tuple[int, int]:
    """Status that BodyLimit answered, and the bytes that the application read."""
    messages = [
        {"type": "http.request", "body": chunk, "more_body": index < len(chunks) - 1}
        for index, chunk in enumerate(chunks)
    ]
    sent: list[Any] = []
    read: list[bytes] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        more = True
        while more:
            message = await receive()
            read.append(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})

    scope = {"type": "http", "path": path, "headers": headers}
    asyncio.run(BodyLimit(application, max_bytes=10)(scope, receive, send))
    if sent[0]["status"] == 413:
        assert json.loads(sent[1]["body"])["errors"][0]["code"] == "payload_too_large"
    return sent[0]["status"], sum(map(len, read))


CHUNKED = [(b"transfer-encoding", b"chunked")]


def test_a_declared_length_over_the_limit_never_reaches_the_application() -> None:
    assert serve([b"x" * 11], headers=[(b"content-length", b"11")]) == (413, 0)


def test_a_chunked_body_is_counted_while_it_comes() -> None:
    assert serve([b"x" * 6, b"x" * 6, b"x"], headers=CHUNKED) == (413, 0)


def test_a_chunked_body_within_the_limit_arrives_whole() -> None:
    assert serve([b"x" * 6, b"x" * 4], headers=CHUNKED) == (200, 10)


def test_pages_outside_of_the_api_have_limits_of_their_own() -> None:
    headers = [(b"content-length", b"11")]
    assert serve([b"x" * 11], headers=headers, path="/admin/") == (200, 11)


def test_a_key_may_burst_and_then_gets_its_share() -> None:
    buckets = TokenBuckets(per_second=2, burst=3)
    assert [buckets.take("a", at=0.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert buckets.take("a", at=0.6) == 0.0
    assert buckets.take("b", at=0.6) == 0.0


class Unmapped(errors.HolamemError):
    code = "unmapped"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.NotFound("x"), 404),
        (errors.Conflict("x"), 409),
        (errors.StillRunning("x"), 409),
        (errors.InvalidInput("x"), 400),
        (errors.LimitExceeded("x"), 429),
        (errors.PermissionDenied("x"), 403),
        (errors.Unavailable("x"), 503),
        (errors.PayloadTooLarge("x"), 413),
        (errors.IdempotencyMismatch("x"), 422),
        (errors.MalformedReply("x"), 503),
        (OperationalError("connection refused"), 503),
        (Unmapped("secret"), 500),
        (RuntimeError("secret"), 500),
    ],
)
def test_every_error_has_its_status(error: Exception, status: int) -> None:
    assert describe(error).status == status


@pytest.mark.parametrize(
    "error", [errors.StillRunning("x"), errors.Unavailable("x"), OperationalError("x")]
)
def test_what_passes_by_itself_says_when_to_come_back(error: Exception) -> None:
    assert describe(error).headers["Retry-After"] == "1"


def test_an_unforeseen_error_is_logged_and_tells_nothing(caplog: Any) -> None:
    request = APIRequestFactory().get("/api/v1/me")
    with caplog.at_level(logging.ERROR):
        response = problem_response(RuntimeError("SELECT secret"), {"request": request})
    assert response.status_code == 500
    assert "secret" not in json.dumps(response.data)
    assert "SELECT secret" in caplog.text


def test_an_error_of_one_draft_is_named_by_its_place_in_the_batch() -> None:
    error = errors.InvalidInput("x", field="text", detail={"index": 3, "batch": "events"})
    assert describe(error).errors[0].field == "events[3].text"
