"""No execution, no memory: what of a session's messages may be distilled.

Only what a tool answered to a recorded call that succeeded. Not what people and models said, not
what failed or was denied, not what the memory tools recalled, and not what a tool merely repeats
of the arguments that the model gave it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from agents.models.conversations import Message, Session
from agents.models.runs import ENDED_RUN, ToolCall
from agents.services.echoes import without_echo
from agents.services.feeding import SOURCE
from agents.tools.registry import all_tools
from holamem.database.scope import workspace_scope
from holamem.text.tokens import count_tokens, truncate
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.recall_mark import contains_recalled_text
from workspaces.services.tool_results import tells_success

# Of one pass: what a small model reads well in one go. What is left is the next pass's.
PASS_TOKENS = 6_000
PASS_MESSAGES = 300
RESULT_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """`key` is what the model calls it; `event_id` None: the result was not fed to memory."""

    key: str
    message_id: UUID
    tool: str
    arguments: dict[str, Any]
    text: str
    said_at: datetime
    event_id: UUID | None


@dataclass(frozen=True, slots=True)
class Material:
    """The messages of one pass, from after `session.distilled_seq` up to `to_seq`."""

    session: Session
    to_seq: int
    messages: tuple[Message, ...]
    evidence: tuple[Evidence, ...]
    owner: str | None

    @property
    def from_seq(self) -> int:
        return self.session.distilled_seq


def new_messages(workspace: Workspace, *, session: Session) -> list[Message]:
    """After the cursor and before the first run that has not ended; inside a step.

    What runs end with is not known before: their results are events of the workspace only then.
    """
    rows = workspace.messages.filter(session=session, event_seq__gt=session.distilled_seq)
    unfinished = workspace.runs.filter(session=session).exclude(status__in=ENDED_RUN)
    first = unfinished.order_by("created_seq").values_list("created_seq", flat=True).first()
    if first is not None:
        rows = rows.filter(event_seq__lt=first)
    return list(rows.order_by("event_seq", "id")[:PASS_MESSAGES])


def gather(workspace: Workspace, *, session_id: UUID, scope_id: UUID) -> Material | None:
    """What the next pass works with; None when there is nothing new."""
    scopes = sorted({workspace.pk, scope_id})
    with workspace_scope(workspace, scopes):
        session = workspace.sessions.select_related("agent").filter(id=session_id).first()
        messages = [] if session is None else new_messages(workspace, session=session)
        if session is None or not messages:
            return None
        calls = _calls(workspace, messages=messages)
        events = _events(workspace, session=session, messages=messages)
        user = workspace.end_users.filter(id=scope_id, erased_at=None).first()
    taken, evidence = _within_budget(messages, calls=calls, events=events)
    return Material(
        session=session,
        to_seq=taken[-1].event_seq,
        messages=tuple(taken),
        evidence=tuple(evidence),
        owner=None if user is None else user.ref,
    )


CallKey = tuple[UUID | None, UUID | None, str]


def _calls(workspace: Workspace, *, messages: Sequence[Message]) -> dict[CallKey, ToolCall]:
    runs = {message.run_id for message in messages if message.role == Message.Role.TOOL}
    rows = workspace.tool_calls.filter(run_id__in=runs, status=ToolCall.Status.SUCCEEDED)
    return {(call.run_id, call.turn_id, call.call_id): call for call in rows}


def _events(
    workspace: Workspace, *, session: Session, messages: Sequence[Message]
) -> dict[str, UUID]:
    names = [f"message:{message.id}" for message in messages if message.role == Message.Role.TOOL]
    rows = workspace.events.filter(
        scope_id=session.scope_id,
        source=SOURCE,
        external_id__in=names,
        kind=Event.Kind.TOOL_RESULT,
        succeeded=True,
    ).exclude(payload_text="")
    return dict(rows.values_list("external_id", "id"))


def _within_budget(
    messages: Sequence[Message], *, calls: dict[CallKey, ToolCall], events: dict[str, UUID]
) -> tuple[list[Message], list[Evidence]]:
    """One message at least, so that each pass moves on."""
    taken: list[Message] = []
    evidence: list[Evidence] = []
    spent = 0
    for message in messages:
        call = calls.get((message.run_id, message.turn_id, message.tool_call_id))
        text = "" if call is None else evidence_text(message, call=call)
        spent += count_tokens(text)
        if taken and spent > PASS_TOKENS:
            break
        taken.append(message)
        if call is not None and text:
            event_id = events.get(f"message:{message.id}")
            key = f"r{len(evidence) + 1}"
            evidence.append(
                Evidence(
                    key, message.id, call.name, call.arguments, text, message.created_at, event_id
                )
            )
    return taken, evidence


def evidence_text(message: Message, *, call: ToolCall) -> str:
    """What the result itself says; "" for what is no evidence."""
    tool = all_tools().get(call.name)
    if message.role != Message.Role.TOOL or message.deleted_at is not None:
        return ""
    if tool is None or not tool.is_evidence or not tells_success(message.content):
        return ""
    if message.content != call.result:
        return ""  # a message that was posted for the call, and is not what the tool answered
    if contains_recalled_text(message.content):
        return ""
    return truncate(without_echo(message.content, arguments=call.arguments), RESULT_TOKENS)
