"""Step 3 of the write path: is this chunk worth remembering?

The rules that hold whatever a judge says come first; a judge decides the rest.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import connection

from holamem.database.scope import workspace_scope
from holamem.errors import MalformedReply
from holamem.text.languages import language_of
from workspaces.judging.base import Admission, ChunkContext, Judge
from workspaces.judging.offline import OfflineJudge
from workspaces.judging.offline_admission import claims_execution
from workspaces.models.log import Category, Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.recall_mark import contains_recalled_text, is_recalled_span

logger = logging.getLogger(__name__)

EARLIER_TEXTS = 12
EARLIER_CHARACTERS = 4_000  # cut by the database: a turn may be a megabyte, and has many chunks
ACCEPTED_KINDS = frozenset({Event.Kind.ACCEPTED_PREFERENCE, Event.Kind.ACCEPTED_IDENTITY})


def chunk_context(workspace: Workspace, *, event: Event, chunk: Chunk) -> ChunkContext:
    """The chunk with its session around it, in two reads."""
    return chunk_contexts(workspace, waiting=[(event, chunk)])[0]


def chunk_contexts(
    workspace: Workspace, *, waiting: Sequence[tuple[Event, Chunk]]
) -> list[ChunkContext]:
    """The same for several of one scope, in their order; not empty."""
    events = {event.id: event for event, _ in waiting}
    with workspace_scope(workspace, [waiting[0][0].scope_id]):
        earlier = _earlier_turns(workspace, events=events.values())
        proven = {
            event.id for event in events.values() if _has_execution_evidence(workspace, event=event)
        }
    return [
        _context(
            workspace,
            event=event,
            chunk=chunk,
            earlier=earlier[event.id],
            has_evidence=event.id in proven,
        )
        for event, chunk in waiting
    ]


def _context(
    workspace: Workspace,
    *,
    event: Event,
    chunk: Chunk,
    earlier: Sequence[tuple[str, str]],
    has_evidence: bool,
) -> ChunkContext:
    user_texts = [text for kind, text in earlier if kind == Event.Kind.USER_MESSAGE]
    return ChunkContext(
        text=chunk.text,
        kind=event.kind,
        actor=event.actor,
        language=language_of(chunk.text),
        occurred_at=event.occurred_at or event.received_at,
        session_ref=event.session_ref,
        succeeded=event.succeeded,
        has_execution_evidence=has_evidence,
        earlier_user_texts=tuple(user_texts),
        previous_turn=earlier[-1][1] if earlier else None,
        workspace_name=workspace.name,
        is_recalled=event.category == Category.INTERACTION
        and is_recalled_span(event.payload_text, start=chunk.start, end=chunk.end),
    )


# Raw SQL for what is read for every event, each by a look-up in the index of its session. A text
# without words was removed.
_EARLIER = """
SELECT wanted.id, earlier.kind, earlier.text
  FROM unnest(%(ids)s::uuid[], %(sessions)s::text[]) AS wanted (id, session)
 CROSS JOIN LATERAL (
   SELECT id, kind, left(payload_text, %(characters)s) AS text FROM workspaces_event
    WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND session_ref = wanted.session
      AND id < wanted.id AND payload_text <> ''
    ORDER BY id DESC LIMIT %(turns)s) AS earlier
 ORDER BY wanted.id, earlier.id
"""


def _earlier_turns(
    workspace: Workspace, *, events: Iterable[Event]
) -> dict[UUID, list[tuple[str, str]]]:
    """By event of one scope: (kind, text) of the turns before it in its session, oldest first."""
    turns: dict[UUID, list[tuple[str, str]]] = defaultdict(list)
    in_sessions = [event for event in events if event.session_ref]
    if not in_sessions:
        return turns
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scope": in_sessions[0].scope_id,
        "ids": [event.id for event in in_sessions],
        "sessions": [event.session_ref for event in in_sessions],
        "characters": EARLIER_CHARACTERS,
        "turns": EARLIER_TEXTS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_EARLIER, values)
        for event_id, kind, text in cursor.fetchall():
            turns[event_id].append((kind, text))
    return turns


def _has_execution_evidence(workspace: Workspace, *, event: Event) -> bool:
    """A successful tool result of the same session that the event names.

    Without a session nothing says that the two belong together.
    """
    if not event.evidence_event_ids or not event.session_ref:
        return False
    return workspace.events.filter(
        scope_id=event.scope_id,
        id__in=event.evidence_event_ids,
        kind=Event.Kind.TOOL_RESULT,
        succeeded=True,
        session_ref=event.session_ref,
    ).exists()


def admit_chunk(context: ChunkContext, *, event: Event, judge: Judge) -> Admission:
    """`confidence` 0 with a reason for what is never admitted; 1 for what is given as accepted."""
    forbidden = hard_rejection(context, category=event.category)
    if forbidden is not None:
        return Admission(0.0, forbidden)
    if event.kind in ACCEPTED_KINDS or event.admission_mode == "accepted":
        return Admission(1.0, "accepted")
    if event.category == Category.INTEGRATION:
        return Admission(1.0, "synchronised")
    try:
        return judge.admit(context)
    except MalformedReply as error:
        # Asking again has been tried already; the rules decide, so that no memory waits for ever.
        kind = str(error.detail.get("kind", "malformed"))
        logger.warning("admission.unusable_answer", extra={"judge": judge.name, "answer": kind})
        by_rule = OfflineJudge()
        return replace(
            by_rule.admit(context), judged_by=f"{judge.name}: no usable answer, {by_rule.name}"
        )


def hard_rejection(context: ChunkContext, *, category: str) -> str | None:
    """The reason why a chunk can't become memory whoever vouches for it, or None."""
    if context.kind == Event.Kind.TOOL_RESULT and context.succeeded is False:
        return "failed_execution"
    if context.is_recalled:
        return "recalled"
    if category == Category.INTERACTION and contains_recalled_text(context.text):
        return "recalled"
    is_unproven_claim = (
        context.kind in (Event.Kind.ASSISTANT_TURN, Event.Kind.DISTILLED_STATEMENT)
        and not context.has_execution_evidence
        and claims_execution(context)
    )
    return "no_execution" if is_unproven_claim else None
