"""A model's arguments: read strictly, checked against the tool's schema, and fit to be stored."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from holamem.errors import InvalidInput
from holamem.text.normalise import find_forbidden
from holamem.text.secrets import mask_json

ARGUMENT_BYTES = 200_000
MAX_DEPTH = 32
MAX_INTEGER = 2**53 - 1  # what JSON numbers carry exactly everywhere


def read_arguments(text: str, *, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The object that will be stored, shown to a person, and run, secrets masked.

    Raises InvalidInput in words that the model can act on.
    """
    found = _parsed(text)
    _require_storable(found)
    error = best_match(Draft202012Validator(dict(schema)).iter_errors(found))
    if error is not None:
        raise InvalidInput(_words(error), field=_place(error))
    masked: dict[str, Any] = mask_json(found)[0]
    return masked


def arguments_sha256(arguments: Mapping[str, Any]) -> str:
    """The same for the same arguments, however they were written."""
    text = json.dumps(arguments, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _parsed(text: str) -> dict[str, Any]:
    if len(text.encode("utf-8", "surrogatepass")) > ARGUMENT_BYTES:
        raise InvalidInput("The arguments are too long.")
    try:
        # Some models send nothing for a tool without arguments.
        value = json.loads(
            text if text.strip() else "{}",
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
        )
    except (ValueError, RecursionError) as error:
        raise InvalidInput("The arguments are not valid JSON.") from error
    if not isinstance(value, dict):
        raise InvalidInput("The arguments must be a JSON object.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What is shown for approval must be what runs, and two values of one key can be read both ways."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def _require_storable(value: Any) -> None:
    for item, depth in _walk(value, 1):
        if depth > MAX_DEPTH:
            raise InvalidInput("The arguments are nested too deeply.")
        if isinstance(item, str) and find_forbidden(item):
            raise InvalidInput("The arguments hold characters that cannot be stored.")
        if isinstance(item, int | float) and abs(item) > MAX_INTEGER:
            raise InvalidInput("The arguments hold a number that is too large.")


def _walk(value: Any, depth: int) -> Iterator[tuple[Any, int]]:
    """Keys and values; what lies too deep ends the walk at the level that is refused."""
    yield value, depth
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield key, depth
            yield from _walk(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _walk(item, depth + 1)


def _place(error: ValidationError) -> str:
    return ".".join(str(part) for part in error.absolute_path)


def _words(error: ValidationError) -> str:
    place = _place(error)
    message = error.message[:500]
    return f"{place}: {message}" if place else message
