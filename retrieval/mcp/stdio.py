"""The protocol over standard input and output: one JSON message a line, answered in order."""

import json
from collections.abc import Iterator
from typing import IO

from django.conf import settings
from django.db import close_old_connections

from holamem.errors import HolamemError
from retrieval.mcp.http import read_message
from retrieval.mcp.protocol import PARSE_ERROR, Answer, Refused, answer_message, error_answer
from retrieval.mcp.tools import KeyTools
from workspaces.services.principals import admit_key

NOT_ADMITTED = -32000


def serve(key: str, *, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
    """Until the input ends. The key is looked at for each message: it may be revoked meanwhile."""
    for line in _lines(incoming):
        answer = _too_long() if line is None else answer_line(line, key=key)
        if answer is not None:
            outgoing.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
            outgoing.flush()


def answer_line(line: bytes, *, key: str) -> Answer | None:
    close_old_connections()  # there is no request around it whose end would do that
    try:
        message = read_message(line)
    except Refused as refused:
        return error_answer(refused)
    try:
        principal = admit_key(key, workspace_slug=None).principal
    except HolamemError as error:
        request_id = message.get("id")
        known = request_id if isinstance(request_id, str | int) else None
        return error_answer(Refused(NOT_ADMITTED, error.message), request_id=known)
    return answer_message(message, toolbox=KeyTools(principal, f"Bearer {key}"))


def _lines(incoming: IO[bytes]) -> Iterator[bytes | None]:
    """Lines that hold something; None in place of one that is longer than a body may be."""
    limit = settings.MAX_BODY_BYTES
    while line := incoming.readline(limit + 2):
        if not line.endswith(b"\n") and len(line) > limit:
            _skip_rest(incoming)
            yield None
        elif line.strip():
            yield line


def _skip_rest(incoming: IO[bytes]) -> None:
    while rest := incoming.readline(settings.MAX_BODY_BYTES):
        if rest.endswith(b"\n"):
            return


def _too_long() -> Answer:
    return error_answer(Refused(PARSE_ERROR, "The message is too large."))
