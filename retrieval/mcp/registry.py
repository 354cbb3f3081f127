"""Which tools there are; the app that has an operation registers the tool that calls it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workspaces.models.tenancy import ApiKey


@dataclass(frozen=True, slots=True)
class Tool:
    """`path` is below the workspace, with arguments that are parts of it in braces.

    `defaults` are arguments that a caller may leave out.
    """

    name: str
    title: str
    description: str
    operation_id: str
    method: str
    path: str
    permission: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    has_one_shape: bool = True


_OWN = (
    Tool(
        name="memory_retrieve",
        title="Ask memory",
        description=(
            "Ask long-term memory a question. Answers with what is known and the evidence for it,"
            " what is missing (gaps), how far the question is covered, and where to look next."
            " `prompt` holds it all as text. Use it before answering what may be known already."
        ),
        operation_id="memory_retrieve",
        method="POST",
        path="memory/retrieve",
        permission=ApiKey.Permission.MEMORY_READ,
    ),
    Tool(
        name="memory_browse",
        title="Walk the memory tree",
        description=(
            "Look at one place of the memory tree with its parents and children, without a"
            " question. For inspection; to find something out, use memory_retrieve."
        ),
        operation_id="memory_browse",
        method="GET",
        path="memory/browse",
        permission=ApiKey.Permission.MEMORY_READ,
    ),
    Tool(
        name="memory_remember",
        title="Remember",
        description=(
            "Send something worth keeping to long-term memory, in the words of whoever said it:"
            " `kind` says who that was. It is stored at once and judged in the background, or"
            " before the answer with `wait`. The same `source` and `external_id` store it once."
        ),
        operation_id="events_receive",
        method="POST",
        path="events",
        permission=ApiKey.Permission.MEMORY_WRITE,
        defaults={"kind": "user_message"},
        has_one_shape=False,  # received, processed and dry-run answers differ
    ),
)

_tools = {tool.name: tool for tool in _OWN}


def register_tool(tool: Tool) -> None:
    """When its app is ready. Tools are listed in the order of their registering."""
    _tools[tool.name] = tool


def all_tools() -> list[Tool]:
    return list(_tools.values())


def find_tool(name: str) -> Tool | None:
    return _tools.get(name)
