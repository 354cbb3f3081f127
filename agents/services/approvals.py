"""One approval for all calls of a reply that wait; a person decides on all of them at once.

Who may decide: a person who may run agents, and a key that may, unless it is the key that started
the run: an agent must not approve what it asked for. A key of an administrator may always.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from agents.events.append import append_event
from agents.models.conversations import Session
from agents.models.runs import Approval, Run, RunEvent, ToolCall
from agents.services.decisions import (
    APPROVED,
    DENIED,
    Decision,
    checked_decisions,
    checked_scope,
    denial_words,
    status_of,
    stored,
)
from agents.services.grants import grant
from agents.services.states import lock_session, move, request_wake
from agents.tools.settling import Ending, end_call
from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, Gone, NotFound, PermissionDenied
from workspaces.models.tenancy import ApiKey, Workspace
from workspaces.services import audit
from workspaces.services.principals import Principal

Scopes = Sequence[UUID] | str | None

APPROVAL_HOURS = 24  # longer, and nobody remembers what it was about
PAGE_APPROVALS = 50
EXPIRED = "Nobody decided in time, which counts as a denial."

PENDING = Approval.Status.PENDING


def create_approval(
    workspace: Workspace,
    *,
    run: Run,
    session: Session,
    turn_id: UUID,
    calls: Sequence[ToolCall],
) -> Approval:
    """Of those of the calls that wait, in the caller's transaction, which moves the run."""
    waiting = [call for call in calls if call.needs_approval and call.status == call.Status.PENDING]
    moment = now()
    approval = Approval.objects.create(
        workspace=workspace,
        scope_id=session.scope_id,
        session=session,
        run=run,
        turn_id=turn_id,
        tool_call_ids=[str(call.id) for call in waiting],
        created_at=moment,
        expires_at=moment + timedelta(hours=APPROVAL_HOURS),
    )
    payload = {
        "approval_id": str(approval.id),
        "expires_at": approval.expires_at.isoformat(),
        "tool_calls": [
            {
                "tool_call_id": str(call.id),
                "call_id": call.call_id,
                "name": call.name,
                "arguments": call.arguments,
            }
            for call in waiting
        ],
    }
    _append(workspace, session, approval, RunEvent.Type.APPROVAL_REQUIRED, payload)
    return approval


def get_approval(workspace: Workspace, *, scopes: Scopes, approval_id: UUID) -> Approval:
    """Raises NotFound."""
    with workspace_scope(workspace, scopes):
        return _found(workspace, approval_id=approval_id)


def list_approvals(
    workspace: Workspace,
    *,
    scopes: Scopes,
    status: str | None = None,
    session_id: UUID | None = None,
    before: UUID | None = None,
    limit: int = PAGE_APPROVALS,
) -> list[Approval]:
    """Newest first; those made before the approval `before`."""
    with workspace_scope(workspace, scopes):
        rows = workspace.approvals.select_related("session", "run").order_by("-id")
        if status is not None:
            rows = rows.filter(status=status)
        if session_id is not None:
            rows = rows.filter(session_id=session_id)
        if before is not None:
            rows = rows.filter(id__lt=before)
        return list(rows[:limit])


def calls_of(workspace: Workspace, *, scopes: Scopes, approval: Approval) -> list[ToolCall]:
    """In the order of the reply."""
    with workspace_scope(workspace, scopes):
        return _calls(workspace, approval=approval)


def may_decide(principal: Principal, *, run: Run) -> bool:
    """A person or key that may run agents; of keys not the one that started the run."""
    if not principal.allows(ApiKey.Permission.AGENTS_RUN):
        return False
    if principal.is_person or ApiKey.Permission.ADMIN in principal.permissions:
        return True
    return bool(str(principal.key_id) != run.started_by.get("key_id"))


def decide_approval(
    workspace: Workspace,
    *,
    scopes: Scopes,
    approval_id: UUID,
    decisions: Sequence[Mapping[str, Any]],
    scope: str,
    principal: Principal,
) -> Approval:
    """All calls at once: those approved may run, those denied get their result, the run goes on.

    The first decision stands; the same one again answers as the first did. Raises NotFound,
    PermissionDenied, InvalidInput for what is incomplete, Gone when it has expired, and Conflict
    for another decision or a run that has ended.
    """
    with workspace_scope(workspace, scopes):
        session_id = _found(workspace, approval_id=approval_id).session_id
        session = lock_session(workspace, session_id=session_id)
        approval = _found(workspace, approval_id=approval_id)
        if not may_decide(principal, run=approval.run):
            raise PermissionDenied("Whoever started the run cannot approve what it asks for.")
        given = checked_decisions(approval, decisions)
        reach = checked_scope(scope)
        if approval.status != PENDING:
            return _answered(approval, given=given, scope=reach)
        _require_open(approval)
        approval.scope, approval.decided_by = reach, principal.label
        _settle(workspace, session=session, approval=approval, given=given)
        _audit(workspace, approval=approval, principal=principal)
    faults.point("approval.decided")
    return approval


def _found(workspace: Workspace, *, approval_id: UUID) -> Approval:
    approval = workspace.approvals.select_related("run").filter(id=approval_id).first()
    if approval is None:
        raise NotFound("There is no such approval.")
    approval.run.workspace = workspace
    return approval


def _answered(approval: Approval, *, given: Sequence[Decision], scope: str) -> Approval:
    """What the second decision on the same approval gets."""
    if approval.status == Approval.Status.EXPIRED:
        if approval.decided_at is not None and approval.decided_at < approval.expires_at:
            raise Conflict("The run has ended meanwhile.", detail={"code": "run_ended"})
        raise Gone("The approval has expired.")
    if (approval.decisions, approval.scope) != (stored(given), scope):
        raise Conflict("The approval was decided already.", detail={"code": "already_decided"})
    return approval


def _require_open(approval: Approval) -> None:
    if approval.run.status != Run.Status.WAITING_APPROVAL or approval.run.cancel_requested:
        raise Conflict("The run has ended meanwhile.", detail={"code": "run_ended"})
    if approval.expires_at <= now():
        raise Gone("The approval has expired.")


def _settle(
    workspace: Workspace, *, session: Session, approval: Approval, given: Sequence[Decision]
) -> None:
    """The decision, its calls, and the run that goes on, in the caller's step."""
    if approval.status == PENDING:
        approval.status = status_of(given)
    approval.decisions, approval.decided_at = stored(given), now()
    _swap(workspace, approval=approval)
    payload = {
        "approval_id": str(approval.id),
        "status": approval.status,
        "scope": approval.scope,
        "decisions": approval.decisions,
        "decided_by": approval.decided_by,
    }
    _append(workspace, session, approval, RunEvent.Type.APPROVAL_DECIDED, payload)
    _apply(workspace, session=session, approval=approval, given=given)
    move(approval.run, to=Run.Status.RUNNING, lease_token=None, lease_until=None)
    request_wake(approval.run)


def _swap(workspace: Workspace, *, approval: Approval) -> None:
    """The first one wins, whoever holds which lock."""
    changed = ("status", "scope", "decisions", "decided_by", "decided_at")
    fields = {name: getattr(approval, name) for name in changed}
    if workspace.approvals.filter(id=approval.id, status=PENDING).update(**fields) != 1:
        raise Conflict("The approval was decided already.", detail={"code": "already_decided"})


def _apply(
    workspace: Workspace, *, session: Session, approval: Approval, given: Sequence[Decision]
) -> None:
    by_id = {decision.tool_call_id: decision for decision in given}
    approved = []
    for call in _calls(workspace, approval=approval):
        decision = by_id[str(call.id)]
        pending = [ToolCall.Status.PENDING]
        if decision.status == APPROVED:
            _approve(workspace, call=call, reason=decision.reason)
            approved.append(call)
            continue
        end_call(
            workspace,
            run=approval.run,
            session=session,
            call=call,
            expected=pending,
            ending=_denial(approval, decision=decision),
        )
    grant(workspace, approval=approval, calls=approved)


def _approve(workspace: Workspace, *, call: ToolCall, reason: str) -> None:
    rows = workspace.tool_calls.filter(id=call.id, status=ToolCall.Status.PENDING)
    if rows.update(status=ToolCall.Status.APPROVED, reason=reason) != 1:
        raise Conflict("A call of the approval has ended meanwhile.")


def _denial(approval: Approval, *, decision: Decision) -> Ending:
    words = EXPIRED if approval.status == Approval.Status.EXPIRED else denial_words(decision.reason)
    return Ending(ToolCall.Status.DENIED, words, decision.reason)


def _calls(workspace: Workspace, *, approval: Approval) -> list[ToolCall]:
    rows = workspace.tool_calls.filter(id__in=approval.tool_call_ids, run_id=approval.run_id)
    return list(rows.order_by("position"))


def _append(
    workspace: Workspace,
    session: Session,
    approval: Approval,
    type: str,
    payload: Mapping[str, Any],
) -> None:
    append_event(
        workspace,
        session=session,
        type=type,
        payload=payload,
        run_id=approval.run_id,
        turn_id=approval.turn_id,
    )


def _audit(workspace: Workspace, *, approval: Approval, principal: Principal) -> None:
    """Ids only: the arguments stand in the calls, and may be memory text."""
    audit.record(
        workspace,
        principal=principal,
        action=f"approval.{approval.status}",
        target_id=approval.id,
        detail={"run_id": str(approval.run_id), "scope": approval.scope},
        scope_id=approval.scope_id,
    )


def expire_approval(workspace: Workspace, *, approval_id: UUID, moment: datetime) -> bool:
    """A denial of all its calls, with its own reason. Inside a step; False when it is not due."""
    session_id = _found(workspace, approval_id=approval_id).session_id
    session = lock_session(workspace, session_id=session_id)
    approval = _found(workspace, approval_id=approval_id)
    is_due = approval.status == PENDING and approval.expires_at <= moment
    if not is_due or approval.run.status != Run.Status.WAITING_APPROVAL:
        return False
    approval.status = Approval.Status.EXPIRED
    given = [Decision(call_id, DENIED, "expired") for call_id in approval.tool_call_ids]
    _settle(workspace, session=session, approval=approval, given=given)
    return True


def close_approval(workspace: Workspace, *, run: Run) -> None:
    """In the step that ends the run: what waits for a decision waits no longer."""
    rows = workspace.approvals.filter(run=run, status=PENDING)
    rows.update(status=Approval.Status.EXPIRED, decided_at=now())
