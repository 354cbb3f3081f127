"""One sentence of a user as a run: created, cancelled, tried again, ended. Nothing here calls a model."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Sum
from django.db.models.functions import Coalesce, Now

from agents.events.append import append_event
from agents.models.conversations import Agent, Message, Session
from agents.models.runs import ACTIVE_RUN, Run, RunEvent
from agents.services.approvals import close_approval
from agents.services.messages import insert_message, message_payload
from agents.services.sessions import clear_active_run, session_scopes
from agents.services.states import is_ended, lock_session, move, request_wake
from agents.tools.settling import end_open_calls
from agents.tools.starters import started_by as kept_principal
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, InvalidInput, LimitExceeded, NotFound
from holamem.ids import new_id
from holamem.text.normalise import find_forbidden, is_blank
from workspaces.models.tenancy import Workspace
from workspaces.services.principals import Principal

__all__ = ["request_wake"]
Scopes = Sequence[UUID] | str | None

CONTENT_CHARACTERS = 200_000
# Beyond, somebody's loop is filling the queue faster than any model works it off.
QUEUED_RUNS = 100
ENDINGS: Mapping[str, str] = {
    Run.Status.COMPLETED: RunEvent.Type.RUN_COMPLETED,
    Run.Status.FAILED: RunEvent.Type.RUN_FAILED,
    Run.Status.CANCELLED: RunEvent.Type.RUN_CANCELLED,
}
# Why calls that were open did not run, by how the run ended.
_OPEN_CALLS = {Run.Status.CANCELLED: "run_cancelled"}


def start_run(
    workspace: Workspace,
    *,
    session: Session,
    content: str,
    input_mode: str,
    started_by: Principal,
) -> Run:
    """The user's message and its run, queued; a runner takes it when the session is free.

    `interrupt` also cancels the active run, and earlier interrupts that have not begun: what
    would have followed had they begun. Raises InvalidInput, Conflict for an archived session.
    """
    check_content(content)
    if input_mode not in Run.InputMode.values:
        raise InvalidInput("This is interrupt or queue.", field="input_mode")
    with workspace_scope(workspace, session_scopes(session)):
        session = _open_session(workspace, session_id=session.id)
        if input_mode == Run.InputMode.INTERRUPT:
            _interrupt(workspace, session=session)
        run = Run(
            workspace=workspace,
            scope_id=session.scope_id,
            session=session,
            trigger_message_id=new_id(),
            config=frozen_config(session.agent),
            input_mode=input_mode,
            started_by=kept_principal(started_by),
        )
        _create(workspace, session=session, run=run, content=content)
    return run


def check_content(content: str) -> None:
    if is_blank(content):
        raise InvalidInput("The message is blank.", field="content", detail={"code": "blank"})
    if len(content) > CONTENT_CHARACTERS:
        raise InvalidInput(
            f"A message has at most {CONTENT_CHARACTERS} characters.", field="content"
        )
    forbidden = find_forbidden(content)
    if forbidden is not None:
        raise InvalidInput(
            f"The message holds a {forbidden.replace('_', ' ')}.",
            field="content",
            detail={"code": forbidden},
        )


def _open_session(workspace: Workspace, *, session_id: UUID) -> Session:
    session = lock_session(workspace, session_id=session_id)
    if session.status != Session.Status.ACTIVE:
        raise Conflict("The session is archived.")
    waiting = workspace.runs.filter(session=session, status=Run.Status.QUEUED).count()
    if waiting >= QUEUED_RUNS:
        raise LimitExceeded(f"{QUEUED_RUNS} runs of this session wait already.")
    return session


def frozen_config(agent: Agent) -> dict[str, Any]:
    return {
        "agent": agent.slug,
        "system_prompt": agent.system_prompt,
        "model": agent.model_name,
        "tools": list(agent.tools),
        "mode": agent.mode,
        "context_tokens": agent.context_tokens,
        "output_tokens": agent.output_tokens,
        "tool_calls": agent.tool_calls,
        "cost": None if agent.cost is None else str(agent.cost),
        "recall": agent.recall,
        "feeds_memory": agent.feeds_memory,
    }


def config_digest(config: Mapping[str, Any]) -> str:
    text = json.dumps(config, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _create(
    workspace: Workspace, *, session: Session, run: Run, content: str | None = None
) -> None:
    """`content` None: the message is there already, as for a run that is tried again."""
    payload: dict[str, Any] = {
        "status": run.status,
        "input_mode": run.input_mode,
        "agent": run.config["agent"],
        "trigger_message_id": str(run.trigger_message_id),
        "retry_of": None if run.retry_of_id is None else str(run.retry_of_id),
    }
    if content is not None:
        payload["message"] = message_payload(run.trigger_message_id, content=content)
    event = append_event(
        workspace,
        session=session,
        type=RunEvent.Type.RUN_CREATED,
        payload=payload,
        run_id=run.id,
    )
    run.created_seq = event.seq
    run.config_sha256 = config_digest(run.config)
    run.save(force_insert=True)
    if content is not None:
        insert_message(
            workspace,
            session=session,
            role=Message.Role.USER,
            content=content,
            event_seq=event.seq,
            id=run.trigger_message_id,
            run_id=run.id,
        )
    request_wake(run)


def _interrupt(workspace: Workspace, *, session: Session) -> None:
    rows = workspace.runs.filter(session=session)
    interrupts = rows.filter(status=Run.Status.QUEUED, input_mode=Run.InputMode.INTERRUPT)
    for run in [*rows.filter(status__in=ACTIVE_RUN), *interrupts.order_by("created_seq")]:
        run.workspace = workspace
        _request_cancel(workspace, run=run, stop_reason="interrupted")


def cancel_run(workspace: Workspace, *, run: Run) -> Run:
    """Ends it at once when no worker holds it, and asks its worker otherwise; again is fine.

    Raises NotFound; Conflict when it has completed or failed.
    """
    with workspace_scope(workspace, _scopes_of(run)):
        lock_session(workspace, session_id=run.session_id)
        run = _locked(workspace, run=run)
        if run.status == Run.Status.CANCELLED:
            return run
        if is_ended(run):
            raise Conflict(f"The run has {run.status} already.")
        _request_cancel(workspace, run=run, stop_reason="cancelled")
    return run


def _request_cancel(workspace: Workspace, *, run: Run, stop_reason: str) -> None:
    """The session is held. A worker's lease that ran out is nobody's."""
    if _has_worker(workspace, run=run):
        if run.status != Run.Status.CANCELLING:
            move(run, to=Run.Status.CANCELLING, cancel_requested=True)
            request_wake(run)
        return
    terminate_run(workspace, run=run, status=Run.Status.CANCELLED, stop_reason=stop_reason)


def _has_worker(workspace: Workspace, *, run: Run) -> bool:
    return workspace.runs.filter(
        id=run.id, lease_token__isnull=False, lease_until__gt=Now()
    ).exists()


def _scopes_of(run: Run) -> tuple[UUID, ...]:
    return tuple(sorted({run.workspace_id, run.scope_id}))


def _locked(workspace: Workspace, *, run: Run) -> Run:
    row = workspace.runs.select_for_update().filter(id=run.id).first()
    if row is None:
        raise NotFound("There is no such run.")
    row.workspace = workspace
    return row


def retry_run(workspace: Workspace, *, run: Run, started_by: Principal) -> Run:
    """The same sentence with the same configuration again, as a run of its own, queued.

    Raises Conflict unless the run failed or was cancelled.
    """
    with workspace_scope(workspace, _scopes_of(run)):
        session = _open_session(workspace, session_id=run.session_id)
        run = _locked(workspace, run=run)
        if run.status not in (Run.Status.FAILED, Run.Status.CANCELLED):
            raise Conflict(f"A run that is {run.status} cannot be tried again.")
        if workspace.messages.filter(id=run.trigger_message_id, deleted_at=None).first() is None:
            raise Conflict("The message of this run was deleted.")
        again = Run(
            workspace=workspace,
            scope_id=run.scope_id,
            session=session,
            trigger_message_id=run.trigger_message_id,
            config=run.config,
            retry_of_id=run.id,
            started_by=kept_principal(started_by),
        )
        _create(workspace, session=session, run=again)
    return again


def continue_run(workspace: Workspace, *, run: Run) -> Run:
    """In the caller's transaction, which has decided what the run waited for. Raises Conflict."""
    lock_session(workspace, session_id=run.session_id)
    run = _locked(workspace, run=run)
    move(run, to=Run.Status.RUNNING, lease_token=None, lease_until=None)
    request_wake(run)
    return run


def get_run(workspace: Workspace, *, scopes: Scopes, run_id: UUID) -> Run:
    """Raises NotFound."""
    with workspace_scope(workspace, scopes):
        run = workspace.runs.select_related("session").filter(id=run_id).first()
    if run is None:
        raise NotFound("There is no such run.")
    run.workspace = run.session.workspace = workspace
    return run


def terminate_run(
    workspace: Workspace,
    *,
    run: Run,
    status: str,
    stop_reason: str,
    error: str = "",
    token: UUID | None = None,
) -> None:
    """In the caller's transaction: close what is open, then the one event that ends the run.

    `token`: only for the worker of this lease; raises RunLost when it is another's. Raises
    Conflict when the run has ended already. The next run of the session is woken.
    """
    session = lock_session(workspace, session_id=run.session_id)
    input_tokens, output_tokens = used_tokens(workspace, run=run)
    close_approval(workspace, run=run)
    reason = _OPEN_CALLS.get(Run.Status(status), "run_ended")
    end_open_calls(workspace, run=run, session=session, reason=reason)
    _keep_partial(workspace, run=run, session=session)
    move(
        run,
        to=status,
        token=token,
        stop_reason=stop_reason,
        error=error,
        ended_at=now(),
        lease_token=None,
        lease_until=None,
        streamed_text="",
        input_tokens=input_tokens,
        output_tokens=output_tokens,
    )
    clear_active_run(session, run)
    append_event(
        workspace,
        session=session,
        type=ENDINGS[status],
        payload={
            "status": status,
            "stop_reason": stop_reason,
            "error": error,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
        },
        run_id=run.id,
    )
    request_wake(run)


def _keep_partial(workspace: Workspace, *, run: Run, session: Session) -> None:
    """What a client has seen of an answer that will not be finished stays, marked as partial."""
    row = workspace.runs.filter(id=run.id).only("streamed_text", "current_turn_id").first()
    if row is not None and not is_blank(row.streamed_text):
        insert_partial(workspace, run=run, session=session, text=row.streamed_text)


def insert_partial(workspace: Workspace, *, run: Run, session: Session, text: str) -> None:
    """In the caller's transaction: an assistant's message that was cut short, with its event."""
    message_id = new_id()
    event = append_event(
        workspace,
        session=session,
        type=RunEvent.Type.ASSISTANT_MESSAGE,
        payload=message_payload(message_id, content=text, is_partial=True, tool_calls=[]),
        run_id=run.id,
        turn_id=run.current_turn_id,
    )
    insert_message(
        workspace,
        session=session,
        role=Message.Role.ASSISTANT,
        content=text,
        event_seq=event.seq,
        id=message_id,
        run_id=run.id,
        turn_id=run.current_turn_id,
        is_partial=True,
        prefix_sha256=session.frozen_index_sha256,
    )


def used_tokens(workspace: Workspace, *, run: Run) -> tuple[int, int]:
    """The sums of the run's model calls; in the caller's step."""
    sums = workspace.model_calls.filter(run_id=run.id).aggregate(
        sent=Coalesce(Sum("input_tokens"), 0), received=Coalesce(Sum("output_tokens"), 0)
    )
    return sums["sent"], sums["received"]
