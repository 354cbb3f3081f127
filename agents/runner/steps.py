"""The short database steps of a run, each under its lease; a model or a tool runs in between."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db.models import Sum

from agents.events.append import append_event
from agents.models.conversations import Message
from agents.models.runs import Run, RunEvent, ToolCall
from agents.runner.endings import (
    CALLS_CUT,
    CANCELLED,
    COMPLETED,
    INTERRUPTED,
    OUTPUT_LIMIT,
    REFUSED,
    TURN_LIMIT,
    RunEnding,
)
from agents.runner.handles import RunHandle
from agents.services.approvals import create_approval
from agents.services.context import ContextSnapshot, load
from agents.services.messages import insert_message, message_payload
from agents.services.runs import insert_partial, terminate_run, used_tokens
from agents.services.states import RunLost, lock_session, move
from agents.tools.dispatch import AskedCall, plan_calls, waiting
from agents.tools.planning import visible_to
from agents.tools.settling import OPEN
from holamem import faults
from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from holamem.providers.streaming import LENGTH, StreamResult
from holamem.text.normalise import is_blank


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """What a run does next: `calls` that have not ended, or a request from the `snapshot`."""

    calls: tuple[ToolCall, ...] = ()
    snapshot: ContextSnapshot | None = None
    ending: RunEnding | None = None


@contextmanager
def held_step(handle: RunHandle) -> Iterator[None]:
    """One transaction in which session and run are ours; both follow the database.

    Raises RunLost.
    """
    workspace, token = handle.workspace, handle.run.lease_token
    with workspace_scope(workspace, handle.scopes):
        session = lock_session(workspace, session_id=handle.session.id)
        run = workspace.runs.select_for_update().filter(id=handle.id).first()
        if run is None or token is None or run.lease_token != token:
            raise RunLost
        session.workspace = run.workspace = workspace
        run.session = session
        handle.run, handle.session = run, session
        yield


def end_run(handle: RunHandle, ending: RunEnding) -> None:
    """Raises RunLost. A run whose end was asked for is cancelled, whatever else it came to."""
    with held_step(handle):
        _end(handle, ending)
    faults.point("run.ended")


def _end(handle: RunHandle, ending: RunEnding) -> None:
    if handle.run.status == Run.Status.CANCELLING:
        ending = INTERRUPTED if _is_interrupted(handle) else CANCELLED
    terminate_run(
        handle.workspace,
        run=handle.run,
        status=ending.status,
        stop_reason=ending.stop_reason,
        error=ending.error,
        token=handle.run.lease_token,
    )


def _is_interrupted(handle: RunHandle) -> bool:
    rows = handle.workspace.runs.filter(session=handle.session, status=Run.Status.QUEUED)
    return rows.filter(input_mode=Run.InputMode.INTERRUPT).exists()


def open_turn(handle: RunHandle, *, max_turns: int) -> OpenTurn:
    """The checkpoint of a run is what is written: calls that are open go before the next request."""
    with held_step(handle):
        run, workspace = handle.run, handle.workspace
        if run.status == Run.Status.CANCELLING:
            return OpenTurn(ending=CANCELLED)
        calls = workspace.tool_calls.filter(run=run, status__in=OPEN).order_by("position")
        found = tuple(calls)
        if found:
            return OpenTurn(calls=found)
        if run.turns >= max_turns:
            return OpenTurn(ending=TURN_LIMIT)
        if not is_blank(run.streamed_text):  # of a worker that was lost in the middle of an answer
            insert_partial(workspace, run=run, session=handle.session, text=run.streamed_text)
        _begin_turn(run)
        return OpenTurn(snapshot=_view(handle))


def _begin_turn(run: Run) -> None:
    run.current_turn_id, run.streamed_text = new_id(), ""
    run.turns += 1
    run.save(update_fields=["current_turn_id", "streamed_text", "turns"])


def _view(handle: RunHandle) -> ContextSnapshot:
    run, workspace = handle.run, handle.workspace
    used = workspace.tool_calls.filter(run=run).count()
    # A budget that is used up leaves the model no tool to ask for: it answers.
    tools = visible_to(run).values() if used < int(run.config["tool_calls"]) else ()
    return load(
        workspace,
        run=run,
        session=handle.session,
        tools=[tool.definition() for tool in tools],
        recall=handle.recall or "",
    )


def asked_sentence(handle: RunHandle) -> str:
    """What the run answers; empty when it was hidden meanwhile."""
    with workspace_scope(handle.workspace, handle.scopes):
        rows = handle.workspace.messages.filter(id=handle.run.trigger_message_id, deleted_at=None)
        message = rows.first()
    return "" if message is None else message.content


def cost_so_far(handle: RunHandle) -> float:
    """US dollars, of the calls that have a price."""
    with workspace_scope(handle.workspace, handle.scopes):
        rows = handle.workspace.model_calls.filter(run_id=handle.id)
        total = rows.aggregate(total=Sum("cost"))["total"]
    return float(total or 0)


def close_turn(handle: RunHandle, result: StreamResult, *, prefix_sha256: str) -> bool:
    """The answer, its calls and what follows from it, in one commit. False: the run pauses or ended.

    An answer without calls is the end of the run.
    """
    faults.point("run.before_answer")
    with held_step(handle):
        asked = _asked(result)
        _answer(handle, result, asked=asked, prefix_sha256=prefix_sha256)
        ending = _ending(result)
        if handle.run.status == Run.Status.CANCELLING or ending is not None:
            _end(handle, ending or CANCELLED)
            goes_on = False
        else:
            goes_on = _plan(handle, asked)
    faults.point("run.after_answer")
    return goes_on


def _asked(result: StreamResult) -> list[AskedCall]:
    """None of an answer that was cut: its last call is half a call, and the others belong to it."""
    if result.finish_reason == LENGTH:
        return []
    return [AskedCall(call.id, call.name, call.arguments) for call in result.tool_calls]


def _ending(result: StreamResult) -> RunEnding | None:
    if result.finish_reason == LENGTH:
        return CALLS_CUT if result.tool_calls else OUTPUT_LIMIT
    if result.is_refused:
        return REFUSED
    return None if result.tool_calls else COMPLETED


def _answer(
    handle: RunHandle,
    result: StreamResult,
    *,
    asked: Sequence[AskedCall],
    prefix_sha256: str,
) -> None:
    run, session, workspace = handle.run, handle.session, handle.workspace
    message_id = new_id()
    calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in asked]
    is_partial = result.finish_reason == LENGTH or run.status == Run.Status.CANCELLING
    event = append_event(
        workspace,
        session=session,
        type=RunEvent.Type.ASSISTANT_MESSAGE,
        payload=message_payload(
            message_id, content=result.text, is_partial=is_partial, tool_calls=calls
        ),
        run_id=run.id,
        turn_id=run.current_turn_id,
    )
    insert_message(
        workspace,
        session=session,
        role=Message.Role.ASSISTANT,
        content=result.text,
        event_seq=event.seq,
        id=message_id,
        run_id=run.id,
        turn_id=run.current_turn_id,
        tool_calls=calls,
        is_partial=is_partial,
        prefix_sha256=prefix_sha256,
    )
    run.streamed_text, run.attempts = "", 1
    run.input_tokens, run.output_tokens = used_tokens(workspace, run=run)
    run.save(update_fields=["streamed_text", "attempts", "input_tokens", "output_tokens"])


def _plan(handle: RunHandle, asked: Sequence[AskedCall]) -> bool:
    run, session, workspace = handle.run, handle.session, handle.workspace
    turn_id = run.current_turn_id or new_id()
    calls = plan_calls(workspace, run=run, session=session, turn_id=turn_id, asked=asked)
    if not waiting(calls):
        return True
    create_approval(workspace, run=run, session=session, turn_id=turn_id, calls=calls)
    move(
        run,
        to=Run.Status.WAITING_APPROVAL,
        token=run.lease_token,
        lease_token=None,
        lease_until=None,
        attempts=0,
    )
    return False


def is_stopped_by_tool(handle: RunHandle) -> bool:
    """Whether a call of the last turn failed that the run must not go on without."""
    turn_id = handle.run.current_turn_id
    if turn_id is None:
        return False
    with workspace_scope(handle.workspace, handle.scopes):
        failed = handle.workspace.tool_calls.filter(
            run=handle.run,
            turn_id=turn_id,
            failure_policy=ToolCall.FailurePolicy.STOP,
            status__in=[
                ToolCall.Status.FAILED,
                ToolCall.Status.UNKNOWN_OUTCOME,
            ],
        )
        return failed.exists()
