"""Running the calls of one reply: what is approved exactly once, what failed told to the model.

Each call is marked as running in one commit, executed with no transaction open, and ended in
another. A call that is found running belongs to a worker that died: it is repeated when its tool
says that it may be, and otherwise nobody knows what it did.
"""

import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.db import connections
from django.db.models import Q

from agents.models.conversations import Session
from agents.models.runs import Run, ToolCall
from agents.services.sessions import session_scopes
from agents.services.states import lock_session, require_lease
from agents.tools.planning import AskedCall, check_call, plan_calls, visible_to
from agents.tools.registry import Tool, ToolContext, ToolOutcome
from agents.tools.settling import (
    RESULTS,
    UNKNOWN,
    Ending,
    end_call,
    end_open_calls,
    ending_for,
    ending_of,
    is_repeatable,
)
from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import HolamemError
from workspaces.models.tenancy import Workspace

__all__ = ["AskedCall", "end_open_calls", "plan_calls", "run_calls", "waiting"]

logger = logging.getLogger(__name__)

TOGETHER = 4  # calls at once; each takes a thread and a connection to the database
LOOK_SECONDS = 0.1  # how soon a cancel is noticed

Status = ToolCall.Status
# What may be started, and by a worker that took over, started again.
STARTABLE = Q(status=Status.APPROVED) | Q(status=Status.PENDING, needs_approval=False)


def waiting(calls: Sequence[ToolCall]) -> bool:
    """Whether a person has to decide before any call of the reply may run."""
    return any(call.needs_approval and call.status == Status.PENDING for call in calls)


def run_calls(
    workspace: Workspace,
    *,
    run: Run,
    session: Session,
    calls: Sequence[ToolCall],
    is_cancelled: Callable[[], bool],
) -> None:
    """Run what is left of the calls of one turn; returns at once when one of them still waits.

    No transaction may be open. After a cancel the calls that have not ended stay for the step that
    ends the run. Raises RunLost when the run is another worker's.
    """
    work = Work(workspace, run, session, is_cancelled)
    rows = work.reload(calls)
    if waiting(rows):
        return
    work.settle_lost(rows)
    for group in _groups(rows, tools=visible_to(run)):
        if is_cancelled():
            return
        if _is_stopped(rows):
            work.skip(group)
        else:
            work.run_group(group)


def _is_stopped(rows: Sequence[ToolCall]) -> bool:
    failed = (Status.FAILED, Status.DENIED, Status.UNKNOWN_OUTCOME)
    return any(
        call.status in failed and call.failure_policy == ToolCall.FailurePolicy.STOP
        for call in rows
    )


def _groups(rows: Sequence[ToolCall], *, tools: dict[str, Tool]) -> Iterator[list[ToolCall]]:
    """In order; calls that may run beside each other together. One that stops the rest is alone."""
    group: list[ToolCall] = []
    for call in rows:
        if call.status not in (Status.PENDING, Status.APPROVED, Status.RUNNING):
            continue
        tool = tools.get(call.name)
        is_free = tool is not None and tool.parallel
        is_free = is_free and call.failure_policy == ToolCall.FailurePolicy.CONTINUE
        if group and (not is_free or len(group) == TOGETHER):
            yield group
            group = []
        group.append(call)
        if not is_free:
            yield group
            group = []
    if group:
        yield group


@dataclass(frozen=True, slots=True)
class Started:
    call: ToolCall
    tool: Tool
    answers: "queue.SimpleQueue[ToolOutcome]"
    until: float


@dataclass(frozen=True, slots=True)
class Work:
    """One worker's hold on one reply."""

    workspace: Workspace
    run: Run
    session: Session
    is_cancelled: Callable[[], bool]

    def reload(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        with workspace_scope(self.workspace, session_scopes(self.session)):
            ids = [call.id for call in calls]
            rows = self.workspace.tool_calls.filter(id__in=ids, run=self.run)
            return list(rows.order_by("position"))

    def settle_lost(self, rows: Sequence[ToolCall]) -> None:
        for call in rows:
            if call.status == Status.RUNNING and not is_repeatable(call):
                self.end(call, UNKNOWN, expected=[Status.RUNNING])

    def skip(self, group: Sequence[ToolCall]) -> None:
        for call in group:
            ending = ending_for("stopped", status=Status.CANCELLED)
            self.end(call, ending, expected=[Status.PENDING, Status.APPROVED])

    def run_group(self, group: Sequence[ToolCall]) -> None:
        started = [found for call in group if (found := self.start(call)) is not None]
        for one in started:
            ending = self.wait_for(one)
            if ending is None:
                return
            self.end(one.call, ending, expected=[Status.RUNNING])

    def start(self, call: ToolCall) -> Started | None:
        """None for a call that was refused after all, or is not ours to start."""
        # The rules are looked at again: what was approved may not be allowed any more.
        asked = AskedCall(call.call_id, call.name, json.dumps(call.arguments))
        checked = check_call(asked, tools=visible_to(self.run))
        if checked.refusal is not None or checked.tool is None:
            refusal = checked.refusal or ending_for("internal_error")
            self.end(call, refusal, expected=[Status.PENDING, Status.APPROVED, Status.RUNNING])
            return None
        faults.point("tool.before_start")
        if not self._mark_running(call):
            return None
        faults.point("tool.started")
        return self._begin(call, checked.tool)

    def _mark_running(self, call: ToolCall) -> bool:
        again = Q(status=Status.RUNNING, started_at=call.started_at)
        may_start = STARTABLE | again if call.status == Status.RUNNING else STARTABLE
        with workspace_scope(self.workspace, session_scopes(self.session)):
            require_lease(self.run)
            moment = now()
            rows = self.workspace.tool_calls.filter(may_start, id=call.id)
            if rows.update(status=Status.RUNNING, started_at=moment) != 1:
                return False
        call.status, call.started_at = Status.RUNNING, moment
        return True

    def _begin(self, call: ToolCall, tool: Tool) -> Started:
        context = ToolContext(
            workspace=self.workspace,
            session=self.session,
            run=self.run,
            call=call,
            scopes=session_scopes(self.session),
            cancelled=self.is_cancelled,
        )
        started = Started(call, tool, queue.SimpleQueue(), time.monotonic() + tool.seconds)
        # A thread, so that a tool which hangs or ignores the cancel can be left behind.
        thread = threading.Thread(
            target=_execute, args=(tool, context, started.answers), daemon=True
        )
        thread.start()
        return started

    def wait_for(self, started: Started) -> Ending | None:
        """None after a cancel: whatever comes later is discarded."""
        while True:
            try:
                return ending_of(started.answers.get(timeout=LOOK_SECONDS))
            except queue.Empty:
                if self.is_cancelled():
                    logger.info("tool.left_behind", extra={"tool_call": str(started.call.id)})
                    return None
                if time.monotonic() > started.until:
                    return ending_for("timed_out") if started.tool.is_idempotent else UNKNOWN

    def end(self, call: ToolCall, ending: Ending, *, expected: Sequence[str]) -> None:
        faults.point("tool.executed")
        with workspace_scope(self.workspace, session_scopes(self.session)):
            session = lock_session(self.workspace, session_id=self.session.id)
            require_lease(self.run)
            end_call(
                self.workspace,
                run=self.run,
                session=session,
                call=call,
                expected=expected,
                ending=ending,
            )
        self.session.last_event_seq = session.last_event_seq
        faults.point("tool.ended")


def _execute(tool: Tool, context: ToolContext, answers: "queue.SimpleQueue[ToolOutcome]") -> None:
    try:
        answers.put(_outcome(tool, context))
    finally:
        connections.close_all()


def _outcome(tool: Tool, context: ToolContext) -> ToolOutcome:
    try:
        return tool.execute(context, dict(context.call.arguments))
    except HolamemError as error:
        return ToolOutcome(False, error.message, error.code)
    except Exception:  # a deployment's own tool may raise anything; the run goes on
        logger.exception("tool.failed", extra={"tool_call": str(context.call.id)})
        return ToolOutcome(False, RESULTS["internal_error"], "internal_error")
