"""`/mcp`: streamable HTTP without sessions. One POST is one message; the answer is JSON."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import validate_host
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.http.parsers import parse_values, read_raw
from holamem.http.problems import RequestRefused, refuse
from retrieval.mcp.protocol import (
    CALL,
    HEADER_MISMATCH,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_VERSIONS,
    Answer,
    Refused,
    answer_message,
    check_version,
    error_answer,
)
from retrieval.mcp.tools import KeyTools
from workspaces.api.base import ApiView
from workspaces.api.permissions import ANY_KEY

VERSION_HEADER = "MCP-Protocol-Version"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


class McpView(ApiView):
    keeps_answers = False  # the views of the tools keep theirs
    permissions = {"POST": ANY_KEY}  # each tool asks for its own

    def check_throttles(self, request: Request) -> None:
        """Later: a call of a tool is counted by the tool's own view, and only once."""

    @extend_schema(exclude=True)
    def post(self, request: Request) -> Response:
        _check_origin(request)
        try:
            message = read_message(read_raw(request))
            _check_headers(request, message)
        except Refused as refused:
            super().check_throttles(request)
            return Response(error_answer(refused), status=400)
        if message.get("method") != CALL:
            super().check_throttles(request)
        tools = KeyTools(self.principal, request.headers["Authorization"])
        answer = answer_message(message, toolbox=tools)
        if message.get("method") == CALL and not tools.sent:
            super().check_throttles(request)  # a call that came to no view, which would count it
        if answer is None:
            return Response(status=202)
        return Response(answer, status=_status(request, answer))


def read_message(raw: bytes) -> dict[str, Any]:
    """Raises Refused. What no text may hold is left to the checks of the arguments."""
    try:
        return parse_values(raw)
    except RequestRefused as error:
        problem = error.problems[0]
        known = {"code": problem.code}
        code = INVALID_REQUEST if problem.code == "object_required" else PARSE_ERROR
        raise Refused(code, problem.message, known) from error


def _check_origin(request: Request) -> None:
    """A page of somebody else's, opened beside a local server, must not talk to it."""
    origin = request.headers.get("Origin")
    allowed = settings.ALLOWED_HOSTS or LOCAL_HOSTS
    if origin is not None and not validate_host(_host(origin), allowed):
        raise refuse("origin_refused", "Requests from this origin are not taken.", status=403)


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


def _check_headers(request: Request, message: dict[str, Any]) -> None:
    """What proxies route by must be what the message says."""
    version = request.headers.get(VERSION_HEADER)
    if version is not None:
        check_version(version)
    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    for header, said in (("Mcp-Method", message.get("method")), ("Mcp-Name", name)):
        given = request.headers.get(header)
        if given is not None and given != said:
            raise Refused(HEADER_MISMATCH, f"The header {header} is not what the message says.")


def _status(request: Request, answer: Answer) -> int:
    """Clients with a handshake take a status other than 200 for a broken connection."""
    code = answer.get("error", {}).get("code")
    if code is None:
        return 200
    if request.headers.get(VERSION_HEADER) in REQUEST_VERSIONS:
        return 404 if code == METHOD_NOT_FOUND else 400
    return 400 if answer["id"] is None else 200
