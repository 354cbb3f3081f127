"""JSON into frozen dataclasses by their annotations; names that are not known are left out."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from holamem.client.errors import BadAnswer

Kind = TypeVar("Kind")


def read(kind: type[Kind], data: Any) -> Kind:
    """Raises BadAnswer when a field without a default is missing, or a value has no such shape.

    `metadata={"key": "from"}` of a field names its JSON key.
    """
    if not isinstance(data, Mapping):
        raise BadAnswer(f"An object is expected for {kind.__name__}.")
    hints = _hints(kind)
    values = {}
    for item in fields(kind):  # type: ignore[arg-type]  # Kind is always a dataclass
        key = item.metadata.get("key", item.name)
        if key in data:
            values[item.name] = _value(hints[item.name], data[key], name=key)
        elif not _has_default(item):
            raise BadAnswer(f"The answer lacks {key!r}.")
    return kind(**values)


_known_hints: dict[type[Any], dict[str, Any]] = {}


def _hints(kind: type[Any]) -> dict[str, Any]:
    if kind not in _known_hints:
        _known_hints[kind] = get_type_hints(kind)
    return _known_hints[kind]


def _has_default(item: "Field[Any]") -> bool:
    return item.default is not MISSING or item.default_factory is not MISSING


def _value(hint: Any, data: Any, *, name: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return data
    if origin in (Union, types.UnionType):
        return None if data is None else _value(inner[0], data, name=name)
    if origin is tuple:
        if not isinstance(data, list):
            raise BadAnswer(f"A list is expected for {name!r}.")
        return tuple(_value(inner[0], item, name=name) for item in data)
    if is_dataclass(hint):
        return read(hint, data)  # type: ignore[arg-type]  # a class, not an instance
    if hint is datetime:
        return _moment(data, name=name)
    return _plain(origin or hint, data, name=name)


def _plain(kind: Any, data: Any, *, name: str) -> Any:
    accepted = (int, float) if kind is float else kind
    if not isinstance(data, accepted) or (isinstance(data, bool) and kind is not bool):
        raise BadAnswer(f"The value of {name!r} has another type than expected.")
    return data


def _moment(data: Any, *, name: str) -> datetime:
    try:
        return datetime.fromisoformat(data)
    except (TypeError, ValueError) as error:
        raise BadAnswer(f"The value of {name!r} is no time.") from error
