"""The arguments of a tool, read from the operation of the OpenAPI document that it calls."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from holamem.http.openapi import schema_document

COMPONENTS = "#/components/schemas/"
WORKSPACE = {"type": "string", "description": "Slug of the workspace whose memory is meant."}
WORKSPACE_PART = "ws"  # of an address; tools call it `workspace`
Schema = dict[str, Any]


@cache
def find_operation(operation_id: str) -> Mapping[str, Any]:
    """Raises KeyError when the document has no such operation."""
    for methods in schema_document()["paths"].values():
        for operation in methods.values():
            if operation.get("operationId") == operation_id:
                found: Mapping[str, Any] = operation
                return found
    raise KeyError(operation_id)


def query_names(operation_id: str) -> list[str]:
    return [name for name, _ in _parameters(operation_id, place="query")]


def path_names(operation_id: str) -> list[str]:
    """Parts of the address below the workspace."""
    return [name for name, _ in _parameters(operation_id, place="path") if name != WORKSPACE_PART]


def input_schema(
    operation_id: str,
    *,
    defaults: Mapping[str, Any],
    with_workspace: bool,
    hidden: Sequence[str] = (),
) -> Schema:
    """Parts of the address, query parameters and body of the operation as one object.

    `defaults` are filled in by the tool; `hidden` arguments are left out of the description.
    """
    body = _body(operation_id)
    in_path = dict(_parameters(operation_id, place="path"))
    in_path.pop(WORKSPACE_PART)
    in_query = dict(_parameters(operation_id, place="query"))
    properties: Schema = {**in_path, **in_query, **body.get("properties", {})}
    for name, value in defaults.items():
        properties[name] = {**properties[name], "default": value}
    needed = [*in_path, *_required_in_query(operation_id), *body.get("required", [])]
    required = [name for name in needed if name not in defaults]
    if with_workspace:
        properties = {"workspace": WORKSPACE, **properties}
        required = ["workspace", *required]
    shown = {name: part for name, part in properties.items() if name not in hidden}
    return _with_definitions(
        {
            "type": "object",
            "properties": shown,
            "required": required,
            "additionalProperties": False,
        }
    )


def output_schema(operation_id: str) -> Schema:
    """The shape of the operation's answer."""
    answer = find_operation(operation_id)["responses"]["200"]["content"]["application/json"]
    return _with_definitions(dict(_resolved(answer["schema"])))


def _required_in_query(operation_id: str) -> list[str]:
    parameters = find_operation(operation_id).get("parameters", ())
    return [item["name"] for item in parameters if item["in"] == "query" and item.get("required")]


def _parameters(operation_id: str, *, place: str) -> Iterator[tuple[str, Schema]]:
    for parameter in find_operation(operation_id).get("parameters", ()):
        if parameter["in"] == place:
            words = parameter.get("description", "")
            yield parameter["name"], {**parameter["schema"], "description": words}


def _body(operation_id: str) -> Schema:
    body = find_operation(operation_id).get("requestBody")
    return {} if body is None else _resolved(body["content"]["application/json"]["schema"])


def _resolved(part: Schema) -> Schema:
    name = part["$ref"].removeprefix(COMPONENTS) if "$ref" in part else None
    return part if name is None else schema_document()["components"]["schemas"][name]


def _with_definitions(schema: Schema) -> Schema:
    """The components that it refers to, and those that these refer to, inside of it."""
    found: Schema = {}
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = schema_document()["components"]["schemas"][name]
            waiting.extend(_references(found[name]))
    whole = {**schema, "$defs": found} if found else schema
    local: Schema = json.loads(json.dumps(whole).replace(COMPONENTS, "#/$defs/"))
    return local


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"].removeprefix(COMPONENTS)
        for value in part.values():
            yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)
