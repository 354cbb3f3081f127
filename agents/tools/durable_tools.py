"""The tools of the durable memory: asking a question, and looking at one place of the tree."""

import json
from typing import Any

from pydantic import BaseModel

from agents.tools.fencing import fenced
from agents.tools.registry import MEMORY, READ, Tool, ToolContext, ToolOutcome
from retrieval.browse import browse
from retrieval.definitions import BrowseRequest, RetrieveRequest, parse_browse, parse_request
from retrieval.retrieve import retrieve
from workspaces.models.tenancy import ApiKey

# What a model may ask for. Whose memory is read is the session's, never an argument.
RETRIEVE_ARGUMENTS = (
    "query", "categories", "entities", "labels", "time_range", "as_of", "mode",
    "include_superseded", "max_results", "token_budget",
)  # fmt: skip
BROWSE_ARGUMENTS = ("path", "node_id", "depth", "cursor", "limit")


def schema_of(model: type[BaseModel], *, names: tuple[str, ...]) -> dict[str, Any]:
    """The part of a request's own schema, so that the two cannot differ."""
    whole = model.model_json_schema()
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: whole["properties"][name] for name in names},
        "required": [name for name in whole.get("required", ()) if name in names],
        "additionalProperties": False,
    }
    return {**schema, "$defs": whole["$defs"]} if "$defs" in whole else schema


def ping(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
    return ToolOutcome(True, "pong")


def ask(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
    request = parse_request(arguments)
    answer = retrieve(context.workspace, scopes=context.scopes, request=request)
    return ToolOutcome(True, answer.prompt)


def look(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
    answer = browse(
        context.workspace, scopes=context.scopes, request=parse_browse(arguments)
    ).as_dict()
    text = json.dumps(answer, ensure_ascii=False, default=str, indent=1)
    return ToolOutcome(True, fenced(text, mark=context.call.id))


PING = Tool(
    name="ping",
    description="Answers pong. Shows that tools can be called; it says nothing about the world.",
    parameters={"type": "object", "properties": {}, "additionalProperties": False},
    execute=ping,
    capabilities=frozenset({READ}),
    is_idempotent=True,
    is_evidence=False,
)
MEMORY_RETRIEVE = Tool(
    name="memory_retrieve",
    description=(
        "Ask long-term memory a question. Answers with what is known and the evidence for it, what"
        " is missing, and where to look next. Use it before answering what may be known already."
    ),
    parameters=schema_of(RetrieveRequest, names=RETRIEVE_ARGUMENTS),
    execute=ask,
    capabilities=frozenset({MEMORY}),
    is_idempotent=True,
    permission=ApiKey.Permission.MEMORY_READ,
    is_evidence=False,
)
MEMORY_BROWSE = Tool(
    name="memory_browse",
    description=(
        "Look at one place of the memory tree with its parents and children, without a question."
        " For inspection; to find something out, use memory_retrieve."
    ),
    parameters=schema_of(BrowseRequest, names=BROWSE_ARGUMENTS),
    execute=look,
    capabilities=frozenset({MEMORY}),
    is_idempotent=True,
    permission=ApiKey.Permission.MEMORY_READ,
    is_evidence=False,
)
