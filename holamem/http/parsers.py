"""Strict JSON bodies: one object, no ambiguity, bounded size, depth and numbers."""

import codecs
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from holamem.http.problems import RequestRefused, refuse
from holamem.text.normalise import find_forbidden

MAX_DEPTH = 32
MAX_MARKS = 400_000  # brackets and commas outside of strings; 500 full events need about 20,000
MAX_INTEGER = 2**63 - 1
MAX_NUMBER_CHARACTERS = 40

# Text without its strings leaves only structure to count; both steps run at C speed.
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
NOT_STRUCTURE = bytes(set(range(256)) - set(b"[]{},"))
FORBIDDEN = {
    "null_character": "A null character cannot be stored.",
    "lone_surrogate": "A lone surrogate is no character.",
    "tag_character": "Invisible tag characters are not accepted.",
}
OPENING, CLOSING = frozenset(b"[{"), frozenset(b"]}")


@dataclass(frozen=True, slots=True)
class JsonBody:
    """`sha256` is over the bytes as they came, for idempotency keys."""

    data: dict[str, Any]
    sha256: str


EMPTY_BODY = JsonBody({}, hashlib.sha256(b"").hexdigest())


class StrictJSONParser(BaseParser):
    """Refuses what other JSON readers would each read in their own way."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        return parse_object(read_capped(stream))


def read_json(request: Request, *, optional: bool = False) -> JsonBody:
    """The body of this request. DRF's `data` would take a chunked body for an empty one.

    `optional`: no body at all is an empty object.
    """
    raw = read_raw(request, optional=optional)
    if optional and not raw:
        return EMPTY_BODY
    return JsonBody(parse_object(raw), hashlib.sha256(raw).hexdigest())


def read_raw(request: Request, *, optional: bool = False) -> bytes:
    """The bytes of a JSON body, at most as many as are allowed; empty only when `optional`."""
    plain: HttpRequest = request._request
    if plain.content_type != StrictJSONParser.media_type:
        return _without_content_type(plain, optional=optional)
    if plain.META.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
        raise refuse("unsupported_encoding", "A compressed body is not accepted.", status=415)
    if _declared_length(plain) > settings.MAX_BODY_BYTES:
        raise _too_large()
    return read_capped(plain)


def _without_content_type(request: HttpRequest, *, optional: bool) -> bytes:
    if request.content_type or read_capped(request):
        raise UnsupportedMediaType(request.content_type or "")
    if optional:
        return b""
    raise _body_required()


def _declared_length(request: HttpRequest) -> int:
    declared = request.META.get("CONTENT_LENGTH") or "0"
    return int(declared) if declared.isdecimal() and len(declared) < 20 else 0


def read_capped(stream: IO[bytes] | HttpRequest) -> bytes:
    """At most the allowed bytes and one more, so that a body without a length is bounded too."""
    raw: bytes = stream.read(settings.MAX_BODY_BYTES + 1)
    if len(raw) > settings.MAX_BODY_BYTES:
        raise _too_large()
    return raw


def _too_large() -> RequestRefused:
    megabytes = settings.MAX_BODY_BYTES // (1024 * 1024)
    return refuse("payload_too_large", f"The body is larger than {megabytes} MB.", status=413)


def _body_required() -> RequestRefused:
    return refuse("body_required", "The request needs a JSON object as its body.")


def parse_object(raw: bytes) -> dict[str, Any]:
    """Raises RequestRefused with a code that says what was wrong, and where it can be named."""
    data = parse_values(raw)
    refuse_forbidden(data)
    return data


def parse_values(raw: bytes) -> dict[str, Any]:
    """`parse_object` whose texts may still hold what no text may hold."""
    if not raw.strip():
        raise _body_required()
    _check_structure(raw)
    data = _loads(_decoded(raw))
    if not isinstance(data, dict):
        raise refuse("object_required", "The body must be a JSON object.")
    return data


def _decoded(raw: bytes) -> str:
    if raw.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise refuse("byte_order_mark", "The body must be UTF-8 without a byte order mark.")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refuse("invalid_utf8", "The body is not valid UTF-8.") from error


def _check_structure(raw: bytes) -> None:
    """Depth and size before parsing: the parser itself recurses and allocates without limit."""
    marks = STRING.sub(b"", raw).translate(None, NOT_STRUCTURE)
    if len(marks) > MAX_MARKS:
        raise refuse("too_many_values", "The body holds too many values.")
    depth = 0
    for mark in marks:
        if mark in OPENING:
            depth += 1
        elif mark in CLOSING:
            depth -= 1
        if depth > MAX_DEPTH:
            raise refuse("too_deep", f"The body is nested deeper than {MAX_DEPTH} levels.")


def _loads(text: str) -> Any:
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_int=_bounded_integer,
            parse_float=_finite_float,
            parse_constant=_no_constant,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise refuse("malformed_json", f"The body is not valid JSON ({place}).") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise refuse("duplicate_key", "A name occurs twice in one object.", field=twice)
    return found


def _bounded_integer(text: str) -> int:
    if len(text) <= MAX_NUMBER_CHARACTERS:
        value = int(text)
        if -MAX_INTEGER - 1 <= value <= MAX_INTEGER:
            return value
    raise refuse("number_out_of_range", "A whole number is beyond 64 bits.")


def _finite_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise refuse("number_out_of_range", "A number is too large.")
    return value


def _no_constant(text: str) -> float:
    raise refuse("not_a_number", "NaN and Infinity are not JSON.")


def refuse_forbidden(data: Mapping[str, Any]) -> None:
    """Characters that no text may hold, wherever they hide: values, keys, metadata."""
    waiting: list[tuple[str, Any]] = [("", data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            _refuse_text(value, path=path)
        elif isinstance(value, Mapping):
            for name, inner in value.items():
                place = f"{path}.{name}" if path else name
                _refuse_text(name, path=place)
                waiting.append((place, inner))
        elif isinstance(value, list):
            waiting.extend((f"{path}[{index}]", inner) for index, inner in enumerate(value))


def _refuse_text(text: str, *, path: str) -> None:
    code = find_forbidden(text)
    if code is not None:
        raise refuse(code, FORBIDDEN[code], field=path)
