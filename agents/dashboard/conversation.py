"""What the page of a conversation shows: messages, calls, approvals and runs, in their order."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from agents.models.conversations import Message, Session
from agents.models.runs import ACTIVE_RUN, Approval, Run, RunEvent, ToolCall
from agents.services.messages import list_messages
from holamem.clock import now
from holamem.database.scope import workspace_scope
from workspaces.models.tenancy import Workspace
from workspaces.rendering import Rendered, render_markdown

Scopes = Sequence[UUID] | str | None
SHOWN_MESSAGES = 60
SHOWN_WITHOUT_MESSAGES = 20  # runs that have said nothing yet: queued, or failed at once
STILL_SECONDS = 60  # without an event, a run may have been left lying
# What its page offers to a run.
CANCELLABLE = (Run.Status.QUEUED, Run.Status.RUNNING, Run.Status.WAITING_APPROVAL)
RETRYABLE = (Run.Status.FAILED, Run.Status.CANCELLED)


@dataclass(frozen=True, slots=True)
class CallCard:
    """`arguments` is indented JSON; `result` is what the model was told."""

    id: UUID
    name: str
    arguments: str
    status: str
    reason: str
    result: str


@dataclass(frozen=True, slots=True)
class ApprovalCard:
    id: UUID
    session_id: UUID
    calls: list[CallCard]
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RunFoot:
    """How a run stands, below the last that it said. `seconds` is None while it is not over."""

    id: UUID
    status: str
    stop_reason: str
    error: str
    input_tokens: int
    output_tokens: int
    seconds: float | None
    is_retry: bool
    is_still: bool

    @property
    def can_cancel(self) -> bool:
        return self.status in CANCELLABLE

    @property
    def can_continue(self) -> bool:
        return self.is_still and self.can_cancel

    @property
    def can_retry(self) -> bool:
        return self.status in RETRYABLE


@dataclass(slots=True)
class Item:
    """`message` is None for a run that has no message of its own on this page."""

    message: Message | None
    body: Rendered | None = None
    calls: list[CallCard] = field(default_factory=list)
    approval: ApprovalCard | None = None
    foot: RunFoot | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """`seq` is the event up to which it counts; `live` the answer so far of the turn under way."""

    session: Session
    owner: str
    items: list[Item]
    earlier: int | None
    seq: int
    live: str
    active: Run | None

    @property
    def is_busy(self) -> bool:
        return any(item.foot is not None and item.foot.can_cancel for item in self.items)


def conversation_of(
    workspace: Workspace, *, scopes: Scopes, session: Session, before: int | None = None
) -> Conversation:
    """The last messages (or those before the event `before`). A fixed number of queries."""
    messages, seq = list_messages(
        workspace, scopes=scopes, session_id=session.id, limit=SHOWN_MESSAGES + 1, before=before
    )
    shown = messages[-SHOWN_MESSAGES:]
    with workspace_scope(workspace, scopes):
        runs = _runs(workspace, session=session, messages=shown, with_newest=before is None)
        calls = _calls(workspace, messages=shown)
        approvals = _pending(workspace, session=session)
        active = next((run for run in runs if run.status in ACTIVE_RUN), None)
        live = _live_text(workspace, session=session, run=active, seq=seq)
        owner = _owner(workspace, scope_id=session.scope_id)
    items = _items(shown, calls=calls, approvals=approvals)
    is_still = (now() - session.updated_at).total_seconds() > STILL_SECONDS
    _add_feet(items, runs, is_still=is_still and not approvals)
    earlier = shown[0].event_seq if len(messages) > len(shown) else None
    return Conversation(session, owner, items, earlier, seq, live, active)


def _runs(
    workspace: Workspace, *, session: Session, messages: Sequence[Message], with_newest: bool
) -> list[Run]:
    """Oldest first: those of the messages, and the newest ones that may have none."""
    rows = workspace.runs.filter(session=session)
    found = {run.id: run for run in rows.filter(id__in={m.run_id for m in messages if m.run_id})}
    if with_newest:
        found |= {run.id: run for run in rows.order_by("-id")[:SHOWN_WITHOUT_MESSAGES]}
    return [found[key] for key in sorted(found)]


def _calls(workspace: Workspace, *, messages: Sequence[Message]) -> dict[UUID, list[ToolCall]]:
    """By turn, in the order of the reply."""
    runs = {message.run_id for message in messages if message.run_id}
    turns = {message.turn_id for message in messages if message.turn_id}
    rows = workspace.tool_calls.filter(run__in=runs, turn_id__in=turns)
    found: dict[UUID, list[ToolCall]] = {}
    for call in rows.order_by("turn_id", "position"):
        found.setdefault(call.turn_id, []).append(call)
    return found


def _pending(workspace: Workspace, *, session: Session) -> dict[UUID, Approval]:
    rows = workspace.approvals.filter(session=session, status=Approval.Status.PENDING)
    return {approval.turn_id: approval for approval in rows}


def _live_text(workspace: Workspace, *, session: Session, run: Run | None, seq: int) -> str:
    """From the log up to `seq`, so that the stream goes on where the page ends."""
    if run is None or run.current_turn_id is None:
        return ""
    said = workspace.run_events.filter(
        session=session,
        run_id=run.id,
        turn_id=run.current_turn_id,
        seq__gt=run.created_seq,
        seq__lte=seq,
    )
    if said.filter(type=RunEvent.Type.ASSISTANT_MESSAGE).exists():
        return ""
    deltas = said.filter(type=RunEvent.Type.ASSISTANT_DELTA).order_by("seq")
    return "".join(delta_text(payload) for payload in deltas.values_list("payload", flat=True))


def delta_text(payload: Any) -> str:
    return str(payload.get("text", "")) if isinstance(payload, dict) else ""


def _owner(workspace: Workspace, *, scope_id: UUID) -> str:
    """The end user's name for a session of theirs; empty for one of nobody."""
    if scope_id == workspace.pk:
        return ""
    return workspace.end_users.filter(id=scope_id).values_list("ref", flat=True).first() or ""


def _items(
    messages: Sequence[Message],
    *,
    calls: dict[UUID, list[ToolCall]],
    approvals: dict[UUID, Approval],
) -> list[Item]:
    """A result of a tool stands in its call's card, and by itself only where that is not shown."""
    items: list[Item] = []
    carded: set[tuple[UUID | None, str]] = set()
    for message in messages:
        if (message.turn_id, message.tool_call_id) in carded:
            continue
        item = Item(message, _body(message))
        if message.role == Message.Role.ASSISTANT and message.turn_id in calls:
            rows = calls[message.turn_id]
            item.calls = [call_card(call) for call in rows]
            carded |= {(call.turn_id, call.call_id) for call in rows}
            item.approval = _approval_card(approvals.get(message.turn_id), item.calls)
        items.append(item)
    return items


def _body(message: Message) -> Rendered | None:
    """An answer is markdown; what people and tools say stays as it is."""
    if message.role != Message.Role.ASSISTANT or not message.content:
        return None
    return render_markdown(message.content)


def call_card(call: ToolCall) -> CallCard:
    return CallCard(
        id=call.id,
        name=call.name,
        arguments=json.dumps(call.arguments, ensure_ascii=False, indent=2),
        status=call.status,
        reason=call.reason,
        result=call.result,
    )


def _approval_card(approval: Approval | None, calls: Sequence[CallCard]) -> ApprovalCard | None:
    if approval is None:
        return None
    wanted = {str(call_id) for call_id in approval.tool_call_ids}
    return ApprovalCard(
        approval.id,
        approval.session_id,
        [call for call in calls if str(call.id) in wanted],
        approval.created_at,
        approval.expires_at,
    )


def _add_feet(items: list[Item], runs: Sequence[Run], *, is_still: bool) -> None:
    """Each below the last item of its run; a run without any stands at the end."""
    last: dict[UUID | None, Item] = {}
    for item in items:
        if item.message is not None:
            last[item.message.run_id] = item
    for run in runs:
        if run.id not in last:
            last[run.id] = Item(None)
            items.append(last[run.id])
        last[run.id].foot = run_foot(run, is_still=is_still)


def run_foot(run: Run, *, is_still: bool) -> RunFoot:
    return RunFoot(
        id=run.id,
        status=run.status,
        stop_reason=run.stop_reason,
        error=run.error,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        seconds=_seconds(run),
        is_retry=run.retry_of_id is not None,
        is_still=is_still,
    )


def _seconds(run: Run) -> float | None:
    if run.started_at is None or run.ended_at is None:
        return None
    return (run.ended_at - run.started_at).total_seconds()
