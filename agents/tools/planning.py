"""What a model asked for, as rows: checked at once, run later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agents.events.append import append_event
from agents.models.conversations import Session
from agents.models.runs import Run, RunEvent, ToolCall
from agents.services.grants import is_granted
from agents.tools.arguments import read_arguments
from agents.tools.registry import Tool, pauses, visible_tools
from agents.tools.settling import Ending, end_call, storable
from agents.tools.starters import permissions_of
from holamem.errors import HolamemError
from workspaces.models.tenancy import Workspace

NAME_CHARACTERS = 100
CALL_ID_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class AskedCall:
    """`id` is the model's, distinct in its reply; `arguments` is the JSON text as it came."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Checked:
    """`refusal` None: it may run."""

    arguments: dict[str, Any]
    tool: Tool | None
    refusal: Ending | None = None


def visible_to(run: Run) -> dict[str, Tool]:
    return {tool.name: tool for tool in visible_tools(run.config, permissions=permissions_of(run))}


def plan_calls(
    workspace: Workspace,
    *,
    run: Run,
    session: Session,
    turn_id: UUID,
    asked: Sequence[AskedCall],
) -> list[ToolCall]:
    """Rows in the order of the reply, each with its event; inside the caller's transaction.

    A call of no visible tool, with wrong arguments, or beyond the run's budget of calls, fails at
    once and says why; the others wait for approval or to be run.
    """
    tools = visible_to(run)
    left = int(run.config.get("tool_calls", 0)) - workspace.tool_calls.filter(run=run).count()
    calls = []
    for position, one in enumerate(asked):
        checked = check_call(one, tools=tools) if position < left else _beyond_budget()
        call = _row(one, checked=checked)
        call.turn_id, call.position = turn_id, position
        _insert(workspace, run=run, session=session, call=call, checked=checked)
        calls.append(call)
    return calls


def check_call(asked: AskedCall, *, tools: Mapping[str, Tool]) -> Checked:
    tool = tools.get(asked.name)
    if tool is None:
        names = ", ".join(sorted(tools)) or "none"
        return Checked({}, None, _refused("unknown_tool", f"There is no such tool here: {names}."))
    try:
        return Checked(read_arguments(asked.arguments, schema=tool.parameters), tool)
    except HolamemError as error:
        return Checked({}, tool, _refused("invalid_arguments", error.message))


def _beyond_budget() -> Checked:
    words = "This run may call no more tools. Answer with what is known."
    return Checked({}, None, _refused("tool_call_limit", words))


def _refused(reason: str, words: str) -> Ending:
    return Ending(ToolCall.Status.FAILED, words, reason)


def _row(asked: AskedCall, *, checked: Checked) -> ToolCall:
    policy = ToolCall.FailurePolicy.CONTINUE
    return ToolCall(
        call_id=asked.id[:CALL_ID_CHARACTERS],
        name=storable(asked.name)[:NAME_CHARACTERS],
        arguments=checked.arguments,
        failure_policy=policy if checked.tool is None else checked.tool.failure_policy,
    )


def _insert(
    workspace: Workspace, *, run: Run, session: Session, call: ToolCall, checked: Checked
) -> None:
    call.workspace, call.scope_id, call.run = workspace, session.scope_id, run
    if checked.tool is not None and checked.refusal is None:
        call.needs_approval = _must_wait(workspace, run=run, call=call, tool=checked.tool)
    call.save(force_insert=True)
    append_event(
        workspace,
        session=session,
        type=RunEvent.Type.TOOL_CALL,
        payload={
            "tool_call_id": str(call.id),
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments,
            "needs_approval": call.needs_approval,
        },
        run_id=run.id,
        turn_id=call.turn_id,
    )
    if checked.refusal is not None:
        pending = [ToolCall.Status.PENDING]
        end_call(
            workspace, run=run, session=session, call=call, expected=pending,
            ending=checked.refusal,
        )  # fmt: skip


def _must_wait(workspace: Workspace, *, run: Run, call: ToolCall, tool: Tool) -> bool:
    if not pauses(str(run.config.get("mode", "")), tool=tool):
        return False
    return not is_granted(workspace, run=run, name=call.name, arguments=call.arguments)
