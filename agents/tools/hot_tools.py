"""The tools of the hot layer: reading and writing text memory, and searching what was said."""

from typing import Any
from uuid import UUID

from agents.hot.message_index import MAX_HITS, search_messages
from agents.hot.text_memory import (
    Writer,
    delete_topic,
    get_text_memory,
    list_text_memories,
    upsert_topic,
)
from agents.hot.topics import LINE_CHARACTERS, NAME_CHARACTERS, TopicDraft, checked_name
from agents.models.hot_memory import INDEX_NAME, TextMemory, TextMemoryVersion
from agents.tools.fencing import fenced
from agents.tools.registry import MEMORY, WRITE, Tool, ToolContext, ToolOutcome
from holamem.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from holamem.text.graphemes import boundary_before
from workspaces.models.tenancy import ApiKey

USER, WORKSPACE = "user", "workspace"
HIT_CHARACTERS = 800
DEFAULT_HITS = 10

_SCOPE = {
    "type": "string",
    "enum": [USER, WORKSPACE],
    "description": "Whose memory: the user's own, or the workspace's. Left out: the user's where"
    " there is one.",
}
_NAME = {
    "type": "string",
    "minLength": 1,
    "maxLength": NAME_CHARACTERS,
    "description": "The topic's name, such as 'deployment' or '部署'.",
}


def scope_of(context: ToolContext, arguments: dict[str, Any]) -> UUID:
    """Whose memory is meant. Raises InvalidInput for a user's in a session of nobody."""
    of_nobody = context.session.scope_id == context.workspace.pk
    wanted = arguments.get("scope") or (WORKSPACE if of_nobody else USER)
    if wanted == WORKSPACE:
        return context.workspace.pk
    if of_nobody:
        raise InvalidInput("This session has no user: use the scope workspace.", field="scope")
    return context.session.scope_id


def read(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
    scope_id, action = scope_of(context, arguments), arguments["action"]
    if action == "list":
        return ToolOutcome(True, _listed(context, scope_id=scope_id))
    name = INDEX_NAME
    if action == "topic":
        if "name" not in arguments:
            raise InvalidInput("A topic is read by its name.", field="name")
        name = checked_name(arguments["name"])
    try:
        row = get_text_memory(
            context.workspace, scopes=context.scopes, scope_id=scope_id, kind=action, name=name
        )
    except NotFound:
        return ToolOutcome(False, f"There is no {action} of this name yet.", "not_found")
    return ToolOutcome(True, f"version {row.version}\n" + fenced(row.content, mark=context.call.id))


def _listed(context: ToolContext, *, scope_id: UUID) -> str:
    rows = list_text_memories(context.workspace, scopes=context.scopes, scope_id=scope_id)
    topics = [row for row in rows if row.kind == TextMemory.Kind.TOPIC]
    lines = [f"- {row.name} (version {row.version}, {row.byte_len} bytes)" for row in topics]
    return fenced("\n".join(lines), mark=context.call.id) if lines else "There are no topics yet."


def write(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
    """The call's id goes with the write: run again after a crash, it changes nothing."""
    scope_id = scope_of(context, arguments)
    _require_own(context, scope_id=scope_id)
    writer = Writer(TextMemoryVersion.Origin.TOOL, context.run.id, context.call.id)
    version = arguments.get("version")
    if arguments["action"] == "delete":
        delete_topic(
            context.workspace,
            scope_id=scope_id,
            name=arguments["name"],
            writer=writer,
            expected_version=version,
        )
        return ToolOutcome(True, f"Deleted the topic '{arguments['name']}'.")
    return _save(context, arguments, scope_id=scope_id, writer=writer)


def _save(
    context: ToolContext, arguments: dict[str, Any], *, scope_id: UUID, writer: Writer
) -> ToolOutcome:
    """A topic is replaced whole, so whoever has not read it may not write over it."""
    draft = TopicDraft(
        arguments["name"], arguments.get("content", ""), arguments.get("summary", "")
    )
    try:
        row = upsert_topic(
            context.workspace,
            scope_id=scope_id,
            topic=draft,
            writer=writer,
            expected_version=arguments.get("version", 0),
        )
    except Conflict as error:
        present = error.detail.get("version")
        words = (
            f"Nothing was saved: the topic is at version {present}. Read it, put your change into"
            f" its text, and save that with version {present}."
        )
        return ToolOutcome(False, words, "version_changed")
    return ToolOutcome(True, f"Saved the topic '{row.name}' as version {row.version}.")


def _require_own(context: ToolContext, *, scope_id: UUID) -> None:
    """A run that a key of one end user started writes that user's memory and nobody else's."""
    bound_to = context.run.started_by.get("end_user_id")
    if bound_to is not None and str(scope_id) != bound_to:
        raise PermissionDenied("This run may write its user's own memory only.")


def search(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
    hits = search_messages(
        context.workspace,
        scopes=context.scopes,
        query=arguments["query"],
        limit=arguments.get("limit", DEFAULT_HITS),
    )
    if not hits:
        return ToolOutcome(True, "No message matches.")
    lines = [
        f"- {hit.created_at:%Y-%m-%d %H:%M} {hit.role} (session {hit.session_id}):"
        f" {_shortened(hit.text)}"
        for hit in hits
    ]
    return ToolOutcome(True, fenced("\n".join(lines), mark=context.call.id))


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    if len(flat) <= HIT_CHARACTERS:
        return flat
    return flat[: boundary_before(flat, HIT_CHARACTERS)] + "…"


MEMORY_READ = Tool(
    name="memory_read",
    description=(
        "Read text memory: the index (one line for each topic), one topic as a whole, or the list"
        " of topics with their versions."
    ),
    parameters={
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["index", "topic", "list"]},
            "scope": _SCOPE,
            "name": _NAME,
        },
        "required": ["action"],
        "additionalProperties": False,
    },
    execute=read,
    capabilities=frozenset({MEMORY}),
    is_idempotent=True,
    permission=ApiKey.Permission.MEMORY_READ,
    is_evidence=False,
)
MEMORY_WRITE = Tool(
    name="memory_write",
    description=(
        "Save or delete a topic of text memory. Saving replaces the whole topic: read it first,"
        " and send its complete new text with the version that you read (0 for a new topic)."
        " Write down what was established, never a plan or a guess. A person approves each call."
    ),
    parameters={
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["save", "delete"]},
            "scope": _SCOPE,
            "name": _NAME,
            "content": {"type": "string", "description": "The topic's complete text, markdown."},
            "summary": {
                "type": "string",
                "maxLength": LINE_CHARACTERS,
                "description": "Its line in the index: what a reader finds in the topic.",
            },
            "version": {
                "type": "integer",
                "minimum": 0,
                "description": "The version that was read; 0 for a topic that is new.",
            },
        },
        "required": ["action", "name"],
        "additionalProperties": False,
    },
    execute=write,
    capabilities=frozenset({MEMORY, WRITE}),
    needs_approval=True,
    is_idempotent=True,
    permission=ApiKey.Permission.MEMORY_WRITE,
    parallel=False,
    is_evidence=False,
)
MEMORY_SEARCH = Tool(
    name="memory_search",
    description=(
        "Find what was said in the sessions of this workspace, by words, in English or Chinese."
        " For what is known and established, use memory_retrieve."
    ),
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 1_000},
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_HITS},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    execute=search,
    capabilities=frozenset({MEMORY}),
    is_idempotent=True,
    permission=ApiKey.Permission.MEMORY_READ,
    is_evidence=False,
)
