"""One id for each request: in every log line, and in the answer as X-Request-ID."""

import re
from collections.abc import Awaitable, Callable
from typing import cast
from uuid import uuid4

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from holamem.logs import request_id

HEADER = "X-Request-ID"
# A caller's own id is kept when it is harmless in a header and in a log line.
ACCEPTED = re.compile(r"[A-Za-z0-9._-]{1,100}")

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class RequestIdMiddleware:
    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        return self._answer_async(request) if self.is_async else self._answer(request)

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        current = id_of(request)
        token = request_id.set(current)
        try:
            response = cast(HttpResponseBase, self.get_response(request))
        finally:
            request_id.reset(token)
        response[HEADER] = current
        return response

    async def _answer_async(self, request: HttpRequest) -> HttpResponseBase:
        """Keeps the id set: the server logs the answer afterwards, and the task ends anyway."""
        current = id_of(request)
        request_id.set(current)
        response = await cast(Awaitable[HttpResponseBase], self.get_response(request))
        response[HEADER] = current
        return response


def id_of(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "")
    return given if ACCEPTED.fullmatch(given) else uuid4().hex
