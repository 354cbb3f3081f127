"""Answers that a view begins and the event loop goes on with, so that a stream holds no thread.

The view does what every view does (key, permissions, limits, headers) and hands over who sends
the body. Nothing of it is in the request or in the answer: no client can ask for it or see it.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse

from holamem.http.body_limit import Application, Message, Receive, Send

EVENT_STREAM = "text/event-stream"

# Sends the body, with `more_body` false at its end; the head is sent.
Body = Callable[[Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class EventStream:
    """`beginning` is all there is where nobody takes the body over, as in Django's test client."""

    body: Body
    beginning: Callable[[], bytes]


@dataclass(slots=True)
class _Place:
    body: Body | None = None


_place: ContextVar[_Place | None] = ContextVar("handover", default=None)


def stream_response(request: HttpRequest, stream: EventStream) -> HttpResponse:
    """What a view answers with. HEAD has no body, and goes no further than the beginning."""
    response = HttpResponse(content_type=f"{EVENT_STREAM}; charset=utf-8")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # a proxy passes on each event as it comes
    place = _place.get()
    if place is None or request.method == "HEAD":
        response.content = stream.beginning()
    else:
        place.body = stream.body
    return response


class Handover:
    """ASGI wrapper: after the head of a 200 whose view handed over, that body in place of its own.

    Whatever else came of the request, such as a failure in a middleware, goes out as it is.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        place = _Place()
        token = _place.set(place)
        try:
            await self.application(scope, receive, _head_only(place, send))
        finally:
            _place.reset(token)
        if place.body is not None:
            await place.body(receive, send)


def _head_only(place: _Place, send: Send) -> Send:
    async def send_on(message: Message) -> None:
        is_head = message["type"] == "http.response.start"
        if is_head and message["status"] != 200:
            place.body = None
        if place.body is None:
            await send(message)
        elif is_head:
            await send({**message, "headers": _without_length(message["headers"])})

    return send_on


def _without_length(headers: Any) -> list[Any]:
    return [(name, value) for name, value in headers if name.lower() != b"content-length"]
