"""What a model is shown: the frozen prefix, the summary, and the messages after it.

A session's messages stand in the order in which their runs ran, which is not that of their
writing: a sentence that waited in the queue comes after the answers that it waited for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import Q

from agents.models.conversations import Message, Session
from agents.models.runs import CompactionCheckpoint, Run
from agents.services.prompt import CUT_OFF, NOT_RUN, frozen_prefix, summary_section
from agents.services.token_counts import corrected, count_messages
from workspaces.models.tenancy import Workspace

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ContextSnapshot:
    """`messages` after `base_event_seq`, in the order of the conversation, the run's last.

    `prefix` never changes within a session but at a compaction; `prefix_sha256` is that of the
    indexes in it. `recall` is what memory said to the run's sentence, or empty.
    """

    session_id: UUID
    base_event_seq: int
    summary: str
    messages: tuple[Message, ...]
    positions: tuple[int, ...]
    tools: tuple[JSON, ...]
    prefix: str
    prefix_sha256: str
    recall: str
    estimated_tokens: int


def load(
    workspace: Workspace,
    *,
    run: Run,
    session: Session,
    tools: Sequence[JSON],
    recall: str = "",
) -> ContextSnapshot:
    """Inside the caller's step. `session` is as the database has it now."""
    checkpoint = _newest_checkpoint(workspace, session=session)
    base = 0 if checkpoint is None else checkpoint.base_event_seq
    placed = _placed_messages(workspace, run=run, session=session, base=base)
    prefix = frozen_prefix(
        agent=str(run.config["agent"]),
        system_prompt=str(run.config["system_prompt"]),
        indexes=[
            ("user", session.frozen_user_index),
            ("workspace", session.frozen_workspace_index),
        ],
    )
    snapshot = ContextSnapshot(
        session_id=session.id,
        base_event_seq=base,
        summary="" if checkpoint is None else checkpoint.summary,
        messages=tuple(message for _, message in placed),
        positions=tuple(position for position, _ in placed),
        tools=tuple(tools),
        prefix=prefix,
        prefix_sha256=session.frozen_index_sha256,
        recall=recall,
        estimated_tokens=0,
    )
    return with_estimate(snapshot, model=str(run.config["model"]))


def with_estimate(snapshot: ContextSnapshot, *, model: str) -> ContextSnapshot:
    tokens = count_messages(build(snapshot), tools=snapshot.tools)
    return replace(snapshot, estimated_tokens=corrected(tokens, model=model))


def with_recall(snapshot: ContextSnapshot, *, recall: str, model: str) -> ContextSnapshot:
    return with_estimate(replace(snapshot, recall=recall), model=model)


def _newest_checkpoint(workspace: Workspace, *, session: Session) -> CompactionCheckpoint | None:
    rows = workspace.compaction_checkpoints.filter(session=session)
    return rows.order_by("-base_event_seq").first()


def _placed_messages(
    workspace: Workspace, *, run: Run, session: Session, base: int
) -> list[tuple[int, Message]]:
    """(place, message) in order; the run's own sentence is there even if the summary has it."""
    runs = _runs_in_view(workspace, run=run, session=session, base=base)
    shown = {row.trigger_message_id: row for row in runs}
    dropped = {row.id for row in runs if shown[row.trigger_message_id].id != row.id}
    rows = workspace.messages.filter(session=session, deleted_at=None)
    newer = rows.filter(Q(event_seq__gt=base) | Q(id__in=list(shown)))
    placed = []
    for message in newer:
        own = shown.get(message.id)
        place = message.event_seq if own is None else own.started_seq
        is_asked = message.id == run.trigger_message_id
        if place is None or (place <= base and not is_asked):
            continue
        if own is None and (message.run_id in dropped or _is_unanswered(message)):
            continue
        if message.is_partial and message.run_id == run.id:
            continue  # its worker was lost in the middle; the turn is asked for again
        placed.append((place, message))
    return sorted(placed, key=lambda item: (item[0], item[1].event_seq, item[1].id))


def _is_unanswered(message: Message) -> bool:
    """A sentence whose run never began: it is still in the queue, or was cancelled there."""
    return message.role == Message.Role.USER and message.run_id is not None


def _runs_in_view(workspace: Workspace, *, run: Run, session: Session, base: int) -> list[Run]:
    """Runs that began after the checkpoint, and this one, by their beginning.

    Of several runs of one sentence the last stands for all.
    """
    rows = workspace.runs.filter(session=session, started_seq__isnull=False)
    rows = rows.filter(Q(started_seq__gt=base) | Q(id=run.id))
    return list(rows.only("id", "trigger_message_id", "started_seq").order_by("started_seq"))


def build(snapshot: ContextSnapshot) -> list[JSON]:
    """The messages of the request. One system message: many chat templates take no second one."""
    sections = [snapshot.prefix]
    if snapshot.summary:
        sections.append(summary_section(snapshot.summary))
    if snapshot.recall:
        sections.append(snapshot.recall)
    return [
        {"role": "system", "content": "\n\n".join(sections)},
        *as_chat(snapshot.messages),
    ]


def as_chat(messages: Sequence[Message]) -> list[JSON]:
    """In the shape of the protocol: every call is followed by its answer, and every answer by a
    call before it, whatever a cancel or a hidden message has left.
    """
    answers = {message.tool_call_id: message for message in messages if message.role == "tool"}
    answered: set[str] = set()
    found: list[JSON] = []
    for message in messages:
        if message.role == Message.Role.ASSISTANT:
            found += _assistant(message, answers=answers, answered=answered)
        elif message.role != Message.Role.TOOL:
            found.append({"role": message.role, "content": message.content})
    return found


def _assistant(
    message: Message, *, answers: Mapping[str, Message], answered: set[str]
) -> list[JSON]:
    content = message.content
    if message.is_partial:
        content = f"{content}\n{CUT_OFF}".strip()
    if not message.tool_calls:
        return [{"role": "assistant", "content": content}] if content else []
    calls = [_call(call) for call in message.tool_calls]
    replies = []
    for call in message.tool_calls:
        reply = answers.get(call["id"]) if call["id"] not in answered else None
        answered.add(call["id"])
        text = NOT_RUN if reply is None else reply.content
        replies.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    # Some services refuse an assistant's message whose content is null or absent.
    return [{"role": "assistant", "content": content, "tool_calls": calls}, *replies]


def _call(call: Mapping[str, Any]) -> JSON:
    function = {"name": call["name"], "arguments": call["arguments"] or "{}"}
    return {"id": call["id"], "type": "function", "function": function}
