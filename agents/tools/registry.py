"""The tools there are. A deployment registers its own from an app's `ready`, as we do ours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from jsonschema import Draft202012Validator

from agents.models.conversations import Agent, Session
from agents.models.runs import Run, ToolCall
from workspaces.models.tenancy import Workspace

READ, WRITE, MEMORY = "read", "write", "memory"
CAPABILITIES = frozenset({READ, WRITE, MEMORY})
MODE_CAPABILITIES: dict[str, frozenset[str]] = {
    Agent.Mode.OBSERVE: frozenset({READ, MEMORY}),
    Agent.Mode.ASSIST: CAPABILITIES,
    Agent.Mode.AUTONOMOUS: CAPABILITIES,
}
TOOL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know. `scopes`: what it may read; the session's own is where it writes.

    A tool that takes long asks `cancelled` from time to time; it is abandoned in any case.
    """

    workspace: Workspace
    session: Session
    run: Run
    call: ToolCall
    scopes: Sequence[UUID]
    cancelled: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """`content` is what the model reads; `reason` is the code of a failure.

    `is_known` false: it may have had its effect or not, and must not be repeated.
    """

    succeeded: bool
    content: str
    reason: str = ""
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class Tool:
    """`parameters` is the JSON schema of the arguments' object.

    `is_idempotent`: it may run again when a worker died during it, because its effect carries the
    call's id or there is none. `parallel`: beside the calls next to it. `is_evidence`: its success
    says something about the world, and may become memory.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    execute: Callable[[ToolContext, dict[str, Any]], ToolOutcome]
    capabilities: frozenset[str] = frozenset({READ})
    needs_approval: bool = False
    is_idempotent: bool = False
    permission: str = ""
    failure_policy: str = ToolCall.FailurePolicy.CONTINUE
    parallel: bool = True
    is_evidence: bool = True
    seconds: float = field(default=TOOL_SECONDS)

    def definition(self) -> dict[str, Any]:
        """As the chat API describes a function."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.parameters),
            },
        }


_tools: dict[str, Tool] = {}


def register_tool(tool: Tool) -> None:
    """Raises ValueError for an unknown capability and SchemaError for a schema that is none.

    The last one of a name stands, so that a deployment can put its own in the place of ours.
    """
    if not tool.capabilities <= CAPABILITIES:
        raise ValueError(f"{tool.name} declares an unknown capability.")
    Draft202012Validator.check_schema(dict(tool.parameters))
    _tools[tool.name] = tool


def forget_tool(name: str) -> None:
    _tools.pop(name, None)


def all_tools() -> dict[str, Tool]:
    return dict(_tools)


def mode_capabilities(mode: str) -> frozenset[str]:
    """Nothing for a mode that is not known."""
    return MODE_CAPABILITIES.get(mode, frozenset())


def pauses(mode: str, *, tool: Tool) -> bool:
    """Whether a run of this mode waits for a person before a call of this tool."""
    return tool.needs_approval and mode != Agent.Mode.AUTONOMOUS


def visible_tools(config: Mapping[str, Any], *, permissions: frozenset[str]) -> list[Tool]:
    """What a run's model is shown, by name: bound to its agent, allowed to whoever started it,
    and covered by its mode.
    """
    covered = mode_capabilities(str(config.get("mode", "")))
    return [
        tool
        for name, tool in sorted(_tools.items())
        if name in config.get("tools", ())
        and tool.capabilities <= covered
        and (not tool.permission or tool.permission in permissions)
    ]
