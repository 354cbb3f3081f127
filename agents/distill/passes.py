"""One pass over a session's new messages, in steps that a worker may die between.

What was decided is written with the cursor in one commit, as a planned row; from there on the row
itself says what is left to do: topics by the ids of their lines, events by the ids of their
statements. A pass that fails leaves the cursor, and puts the raw messages into the history once.
"""

import logging
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agents.distill.applying import apply_planned
from agents.distill.asking import DistillReply, KnownTopic, ask
from agents.distill.evidence import Material, gather
from agents.distill.judging import Judged, judge
from agents.hot.history import append_history
from agents.hot.text_memory import list_text_memories
from agents.models.distillation import Distillation
from agents.models.hot_memory import TextMemory
from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import ProviderError
from holamem.providers.base import Usage
from workspaces.models.tenancy import Workspace
from workspaces.services.model_calls import chat_model_of
from workspaces.services.quotas import QuotaReached

logger = logging.getLogger(__name__)

NO_USAGE = Usage(0, 0, estimated=False)
RAW_CHARACTERS = 20_000  # of one message in the history; the message itself stays where it is


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a pass runs."""

    trigger: str
    night_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a pass would write."""

    material: Material
    judged: Judged
    usage: Usage


def propose(workspace: Workspace, *, session_id: UUID, scope_id: UUID) -> Proposal | None:
    """The dry run: asks the model and writes nothing. None: nothing new, or no model to ask.

    Raises ProviderError and QuotaReached.
    """
    material = gather(workspace, session_id=session_id, scope_id=scope_id)
    return None if material is None else _proposal(workspace, material=material)


def distill_next(
    workspace: Workspace, *, session_id: UUID, scope_id: UUID, cause: Cause
) -> Distillation | None:
    """One pass; None when there is nothing to do. What an earlier worker left is done first.

    Raises QuotaReached: the tenant's limit is no failure of the service.
    """
    apply_planned(workspace, session_id=session_id, scope_id=scope_id)
    material = gather(workspace, session_id=session_id, scope_id=scope_id)
    if material is None:
        return None
    try:
        proposal = _proposal(workspace, material=material)
    except QuotaReached:
        raise
    except ProviderError as error:
        return _fail(workspace, material=material, cause=cause, error=error)
    if proposal is None:
        return None
    faults.point("distill.decided")
    planned = _plan(workspace, proposal=proposal, cause=cause)
    if planned is None:
        return None  # another worker was faster
    faults.point("distill.planned")
    apply_planned(workspace, session_id=session_id, scope_id=scope_id)
    with workspace_scope(workspace, [scope_id]):
        planned.refresh_from_db()
    return planned


def _proposal(workspace: Workspace, *, material: Material) -> Proposal | None:
    """Without evidence no model is asked."""
    if not material.evidence:
        return Proposal(material, Judged((), (), {}), NO_USAGE)
    scope_id = material.session.scope_id
    chat = chat_model_of(workspace, scope_id=scope_id)
    if chat is None:
        return None
    topics = known_topics(workspace, scope_id=scope_id)
    reply = ask(chat, evidence=material.evidence, topics=topics)
    value: DistillReply = reply.value
    return Proposal(material, judge(value, evidence=material.evidence, topics=topics), reply.usage)


def known_topics(workspace: Workspace, *, scope_id: UUID) -> dict[str, KnownTopic]:
    """By name, those that were written last first."""
    rows = list_text_memories(workspace, scopes=[scope_id], scope_id=scope_id)
    topics = [row for row in rows if row.kind == TextMemory.Kind.TOPIC]
    topics.sort(key=lambda row: row.updated_at, reverse=True)
    return {row.name: KnownTopic(row.name, row.content, row.version) for row in topics}


def _plan(workspace: Workspace, *, proposal: Proposal, cause: Cause) -> Distillation | None:
    """Cursor, decision and history in one commit. None when the cursor has moved meanwhile."""
    material = proposal.material
    session = material.session
    with workspace_scope(workspace, [session.scope_id]):
        behind = workspace.sessions.filter(id=session.id, distilled_seq=material.from_seq)
        if behind.update(distilled_seq=material.to_seq) != 1:
            return None
        row = _row(workspace, material=material, cause=cause)
        row.status = Distillation.Status.PLANNED
        row.statements = [_statement(one) for one in proposal.judged.statements]
        row.dropped = [{"text": one.text, "reason": one.reason} for one in proposal.judged.dropped]
        row.summaries = dict(proposal.judged.summaries)
        row.input_tokens = proposal.usage.input_tokens
        row.output_tokens = proposal.usage.output_tokens
        row.save(force_insert=True)
        _note(workspace, row=row)
    return row


def _row(workspace: Workspace, *, material: Material, cause: Cause) -> Distillation:
    return Distillation(
        workspace=workspace,
        scope_id=material.session.scope_id,
        session=material.session,
        night_id=cause.night_id,
        trigger=cause.trigger,
        from_seq=material.from_seq,
        to_seq=material.to_seq,
        messages=len(material.messages),
        results=len(material.evidence),
    )


def _statement(one: Any) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "text": one.text,
        "topic": one.topic,
        "replaces": list(one.replaces),
        "message_ids": [str(item.message_id) for item in one.evidence],
        "event_ids": [str(item.event_id) for item in one.evidence if item.event_id is not None],
        "said_at": max(item.said_at for item in one.evidence).isoformat(),
    }


def _note(workspace: Workspace, *, row: Distillation) -> None:
    append_history(
        workspace,
        scope_id=row.scope_id,
        kind="distillation.planned",
        payload={
            "distillation_id": str(row.id),
            "session_id": str(row.session_id),
            "from_seq": row.from_seq,
            "to_seq": row.to_seq,
            "results": row.results,
            "statements": [one["id"] for one in row.statements],
            "dropped": len(row.dropped),
        },
    )


def _fail(
    workspace: Workspace, *, material: Material, cause: Cause, error: ProviderError
) -> Distillation:
    """The cursor stays. Each raw message goes into the history once, however often this fails."""
    session = material.session
    with workspace_scope(workspace, [session.scope_id]):
        failed = workspace.distillations.filter(
            session=session, status=Distillation.Status.FAILED, to_seq__gt=material.from_seq
        )
        kept = failed.order_by("-to_seq").values_list("to_seq", flat=True).first() or 0
        row = _row(workspace, material=material, cause=cause)
        row.status, row.ended_at = Distillation.Status.FAILED, now()
        row.error = str(error.detail.get("kind") or error.code)[:60]
        fresh = [message for message in material.messages if message.event_seq > kept]
        if fresh:
            entry = append_history(
                workspace,
                scope_id=session.scope_id,
                kind="distillation.failed",
                payload=_raw(row, messages=fresh),
            )
            row.history_entry_id = entry.id
        row.save(force_insert=True)
    logger.warning("distillation.failed", extra={"session": str(session.id), "code": row.error})
    return row


def _raw(row: Distillation, *, messages: Any) -> dict[str, Any]:
    return {
        "distillation_id": str(row.id),
        "session_id": str(row.session_id),
        "error": row.error,
        "messages": [
            {
                "id": str(message.id),
                "seq": message.event_seq,
                "role": message.role,
                "content": message.content[:RAW_CHARACTERS],
            }
            for message in messages
        ],
    }
