"""The end of a call: its state, the message that the model reads, and the event, in one step."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.events.append import append_event
from agents.models.conversations import Message, Session
from agents.models.runs import Run, RunEvent, ToolCall
from agents.services.messages import insert_message
from agents.tools.registry import ToolOutcome, all_tools
from holamem.clock import now
from holamem.text.normalise import find_forbidden
from holamem.text.secrets import mask_secrets
from workspaces.models.tenancy import Workspace

Status = ToolCall.Status
OPEN = (Status.PENDING, Status.APPROVED, Status.RUNNING)
RESULT_CHARACTERS = 40_000  # about what a small model's window holds
CUT = "\n[The rest of the result was left out.]"

RESULTS = {
    "run_cancelled": "The run was cancelled before this call had run.",
    "run_ended": "The run ended before this call had run.",
    "stopped": "Not run: a call before it failed, and the others must not run then.",
    "unknown_outcome": (
        "It is not known whether this call took effect: its worker was lost while it ran. Do not"
        " repeat it. A person has to look."
    ),
    "timed_out": "The tool did not answer in time.",
    "internal_error": "The tool failed.",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """`status` is a final one; `reason` a person's, or the code of a failure."""

    status: str
    content: str
    reason: str = ""


def ending_of(outcome: ToolOutcome) -> Ending:
    if not outcome.is_known:
        return UNKNOWN
    status = Status.SUCCEEDED if outcome.succeeded else Status.FAILED
    return Ending(status, outcome.content, "" if outcome.succeeded else outcome.reason or "failed")


def ending_for(reason: str, *, status: str = Status.FAILED) -> Ending:
    return Ending(status, RESULTS[reason], reason)


UNKNOWN = ending_for("unknown_outcome", status=Status.UNKNOWN_OUTCOME)


def end_call(
    workspace: Workspace,
    *,
    run: Run,
    session: Session,
    call: ToolCall,
    expected: Sequence[str],
    ending: Ending,
) -> bool:
    """Inside the caller's step. False, and nothing is written, when the call is not `expected`."""
    rows = workspace.tool_calls.filter(id=call.id, status__in=expected)
    content = storable(ending.content)
    moment = now()
    fields = {"status": ending.status, "reason": ending.reason, "result": content}
    if rows.update(**fields, ended_at=moment) != 1:
        return False
    call.status, call.reason, call.result = ending.status, ending.reason, content
    call.ended_at = moment
    event = append_event(
        workspace,
        session=session,
        type=RunEvent.Type.TOOL_RESULT,
        payload=_payload(call),
        run_id=run.id,
        turn_id=call.turn_id,
    )
    insert_message(
        workspace,
        session=session,
        role=Message.Role.TOOL,
        content=content,
        run_id=run.id,
        turn_id=call.turn_id,
        tool_call_id=call.call_id,
        event_seq=event.seq,
    )
    return True


def _payload(call: ToolCall) -> dict[str, object]:
    return {
        "tool_call_id": str(call.id),
        "call_id": call.call_id,
        "name": call.name,
        "status": call.status,
        "succeeded": call.status == Status.SUCCEEDED,
        "reason": call.reason,
        "content": call.result,
    }


def end_open_calls(workspace: Workspace, *, run: Run, session: Session, reason: str) -> int:
    """All calls of the run that have not ended; inside the step that ends the run.

    One that was running may have had its effect: unless it can be repeated, nobody knows.
    """
    ended = 0
    open_ones = workspace.tool_calls.filter(run=run, status__in=OPEN)
    for call in open_ones.order_by("turn_id", "position"):
        is_known = call.status != Status.RUNNING or is_repeatable(call)
        ending = ending_for(reason, status=Status.CANCELLED) if is_known else UNKNOWN
        ended += end_call(
            workspace, run=run, session=session, call=call, expected=OPEN, ending=ending
        )
    return ended


def is_repeatable(call: ToolCall) -> bool:
    """A tool that is not registered any more cannot say so."""
    tool = all_tools().get(call.name)
    return tool is not None and tool.is_idempotent


def storable(text: str) -> str:
    """Bounded, without what the database cannot hold, secrets masked as in events."""
    clean = text.replace("\x00", "")
    if find_forbidden(clean) is not None:
        clean = "".join(c for c in clean if find_forbidden(c) is None)
    masked = mask_secrets(clean).text
    return masked if len(masked) <= RESULT_CHARACTERS else masked[:RESULT_CHARACTERS] + CUT
