"""One run, turn by turn: the model, its calls, their results, and again, until it answers."""

import logging
import time
from collections.abc import Sequence
from decimal import Decimal

from django.db import Error as DatabaseFailure

from agents.models.runs import Run, ToolCall
from agents.runner.deltas import DeltaWriter
from agents.runner.endings import (
    CANCELLED,
    COST_LIMIT,
    EMPTY,
    INTERNAL,
    LOST,
    NO_MODEL,
    TOOL_STOPPED,
    ending_of,
    failed,
)
from agents.runner.handles import RunCancelled, RunHandle
from agents.runner.reading import StreamEnd, StreamReader
from agents.runner.recall import recall_for
from agents.runner.steps import (
    close_turn,
    cost_so_far,
    end_run,
    is_stopped_by_tool,
    open_turn,
)
from agents.services.compaction import Summariser, compact_if_needed
from agents.services.context import ContextSnapshot, build, with_recall
from agents.services.states import RunLost
from agents.services.token_counts import count_messages, learn
from agents.tools.dispatch import run_calls
from holamem import faults
from holamem.environment import get_environment
from holamem.errors import HolamemError
from holamem.providers.registry import chat_model_named
from holamem.providers.streaming import (
    ChatStream,
    StreamCancelled,
    StreamRequest,
    StreamResult,
    TextDelta,
    open_stream,
)
from workspaces.services.model_calls import OpenCall, model_call

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
SPARE_TURNS = 8  # beyond one for each call of the budget: refused calls, and the answer itself
EMPTY_TRIES = 2
LOOK_SECONDS = 0.2  # how soon a cancel is noticed while nothing arrives
TOTAL_SECONDS = 600.0
DATABASE_FAILED = "database_failed"


def execute(handle: RunHandle) -> str:
    """Until the run has ended, waits for a person, or is another worker's. No error escapes.

    The answer is the run's state, or `lost`, or DATABASE_FAILED.
    """
    started = time.monotonic()
    faults.point("run.claimed")
    outcome = _outcome(handle)
    logger.info(
        "run.executed",
        extra={
            "run": str(handle.id),
            "workspace": str(handle.workspace.pk),
            "outcome": outcome,
            "duration_ms": round((time.monotonic() - started) * 1000),
        },
    )
    return outcome


def _outcome(handle: RunHandle) -> str:
    try:
        return _worked_off(handle)
    except RunLost:
        return "lost"
    except DatabaseFailure:
        # Nothing can be written now. The lease runs out, and whoever then takes the run over
        # goes on from what was committed.
        logger.warning("run.database_failed", extra={"run": str(handle.id)}, exc_info=True)
        return DATABASE_FAILED


def _worked_off(handle: RunHandle) -> str:
    try:
        _take_turns(handle)
    except (RunCancelled, StreamCancelled):
        handle.check_lost()
        end_run(handle, CANCELLED)
    except (RunLost, DatabaseFailure):
        raise
    except HolamemError as error:
        end_run(handle, ending_of(error))
    except Exception:
        logger.exception("run.crashed", extra={"run": str(handle.id)})
        end_run(handle, INTERNAL)
    return str(handle.run.status)


def _take_turns(handle: RunHandle) -> None:
    run = handle.run
    if run.attempts > MAX_ATTEMPTS:
        end_run(handle, LOST)
        return
    model = str(run.config["model"]) or get_environment().chat_model
    if not model and run.status == Run.Status.RUNNING:
        end_run(handle, failed("no_model", NO_MODEL))
        return
    while _take_turn(handle, model=model):
        handle.check()


def _take_turn(handle: RunHandle, *, model: str) -> bool:
    """False: the run pauses or has ended."""
    turn = open_turn(handle, max_turns=int(handle.run.config["tool_calls"]) + SPARE_TURNS)
    if turn.ending is not None:
        end_run(handle, turn.ending)
        return False
    if turn.snapshot is None:
        return _run_calls(handle, turn.calls)
    if _is_too_dear(handle):
        end_run(handle, COST_LIMIT)
        return False
    snapshot = _completed(handle, turn.snapshot, model=model)
    result = _ask(handle, snapshot, model=model)
    if result is None:
        end_run(handle, EMPTY)
        return False
    return close_turn(handle, result, prefix_sha256=snapshot.prefix_sha256)


def _run_calls(handle: RunHandle, calls: Sequence[ToolCall]) -> bool:
    run_calls(
        handle.workspace,
        run=handle.run,
        session=handle.session,
        calls=calls,
        is_cancelled=handle.is_given_up,
    )
    handle.check()
    if is_stopped_by_tool(handle):
        end_run(handle, TOOL_STOPPED)
        return False
    return True


def _is_too_dear(handle: RunHandle) -> bool:
    limit = handle.run.config.get("cost")
    return limit is not None and Decimal(str(cost_so_far(handle))) >= Decimal(str(limit))


def _completed(handle: RunHandle, snapshot: ContextSnapshot, *, model: str) -> ContextSnapshot:
    """The view with what memory says, once a run, and within its budget."""
    if handle.recall is None:
        handle.recall = recall_for(handle)
        handle.check()
        if handle.recall:
            snapshot = with_recall(
                snapshot, recall=handle.recall, model=str(handle.run.config["model"])
            )
    return compact_if_needed(
        handle.workspace,
        run=handle.run,
        session=handle.session,
        snapshot=snapshot,
        summariser=Summariser(chat_model_named(model), handle.check),
    )


def _ask(handle: RunHandle, snapshot: ContextSnapshot, *, model: str) -> StreamResult | None:
    """None: the answer was empty, also the second time."""
    for _ in range(EMPTY_TRIES):
        handle.check()
        result = _streamed(handle, snapshot, model=model)
        if result.text.strip() or result.tool_calls or result.is_refused:
            return result
    return None


def _streamed(handle: RunHandle, snapshot: ContextSnapshot, *, model: str) -> StreamResult:
    messages = build(snapshot)
    request = StreamRequest(
        model=model,
        messages=messages,
        tools=snapshot.tools,
        max_output_tokens=int(handle.run.config["output_tokens"]),
        deadline_seconds=TOTAL_SECONDS,
        idle_seconds=get_environment().chat_deadline_seconds,
    )
    with model_call(
        handle.workspace,
        purpose="generation",
        scope_id=handle.session.scope_id,
        model=model,
        run_id=handle.id,
        session_id=handle.session.id,
    ) as call:
        result = _read(handle, open_stream(request), call=call)
    if not result.usage.estimated:
        counted = count_messages(messages, tools=snapshot.tools)
        learn(model=str(handle.run.config["model"]), counted=counted,
              reported=result.usage.input_tokens)  # fmt: skip
    return result


def _read(handle: RunHandle, stream: ChatStream, *, call: OpenCall) -> StreamResult:
    """Raises what the stream raises, RunCancelled and RunLost; the stream is closed in any case."""
    reader, writer = StreamReader(stream), DeltaWriter(handle)
    try:
        _pump(handle, reader, writer)
        writer.write(is_end=True)
        result = stream.result()
    except Exception:
        _keep_seen(handle, writer)
        raise
    finally:
        reader.close()
        call.usage = stream.result().usage
    return result


def _keep_seen(handle: RunHandle, writer: DeltaWriter) -> None:
    """What came before the end is a part of the answer, too; the run may be lost already."""
    if not handle.lost.is_set():
        writer.write(is_end=True)


def _pump(handle: RunHandle, reader: StreamReader, writer: DeltaWriter) -> None:
    while True:
        left = writer.seconds_left()
        item = reader.next(LOOK_SECONDS if left is None else min(LOOK_SECONDS, left))
        handle.check()
        if isinstance(item, StreamEnd):
            if item.error is not None:
                raise item.error
            return
        if isinstance(item, TextDelta):
            writer.add(item.text)
        writer.write_due()
