"""A pydantic model as the JSON schema that structured output accepts."""

from typing import Any

from pydantic import BaseModel

from holamem.providers.capabilities import BOUND_KEYWORDS

# OpenAI's strict mode knows none of these; none of them restricts an answer.
_DROPPED = frozenset({"title", "default", "examples", "discriminator"})
_NAMED_SCHEMAS = frozenset({"properties", "$defs"})
_VALUES = frozenset({"enum", "const", "required"})

Schema = dict[str, Any]


def strict_schema(model: type[BaseModel], *, bounds: bool = True) -> Schema:
    """Closed objects with every property required, as strict mode asks.

    A property with a default becomes required too; the model then still accepts every answer.
    `bounds=False` leaves out lengths and ranges, which validation checks anyway.
    """
    dropped = _DROPPED if bounds else _DROPPED | frozenset(BOUND_KEYWORDS)
    schema: Schema = _strict(model.model_json_schema(), dropped)
    return schema


def is_closed(node: Any) -> bool:
    """False with a free-form mapping (`dict[str, X]`) inside: strict mode refuses those."""
    if isinstance(node, list):
        return all(is_closed(item) for item in node)
    if not isinstance(node, dict):
        return True
    if node.get("additionalProperties", False) is not False:
        return False
    return all(is_closed(value) for value in node.values())


def _strict(node: Any, dropped: frozenset[str]) -> Any:
    if isinstance(node, list):
        return [_strict(item, dropped) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return {"$ref": node["$ref"]}  # strict mode allows no keyword beside a reference
    result: Schema = {}
    for keyword, value in node.items():
        if keyword not in dropped:
            result.update(_strict_keyword(keyword, value, dropped))
    return _closed(result)


def _strict_keyword(keyword: str, value: Any, dropped: frozenset[str]) -> Schema:
    if keyword in _NAMED_SCHEMAS:
        return {keyword: {name: _strict(schema, dropped) for name, schema in value.items()}}
    if keyword in _VALUES:
        return {keyword: value}
    if keyword == "oneOf":
        return {"anyOf": _strict(value, dropped)}
    if keyword == "allOf" and len(value) == 1:
        merged: Schema = _strict(value[0], dropped)
        return merged
    return {keyword: _strict(value, dropped)}


def _closed(schema: Schema) -> Schema:
    is_object = schema.get("type") == "object"
    if is_object and ("properties" in schema or "additionalProperties" not in schema):
        properties = schema.setdefault("properties", {})
        return {**schema, "additionalProperties": False, "required": list(properties)}
    return schema
