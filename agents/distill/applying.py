"""Carrying out what a pass has decided: its topics, then its events, then the row is done.

Each part may run again after a crash and then finds its own ids: a line is there once, an event is
received once.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from agents.distill.lines import mark_of, marks_in, with_statement
from agents.hot.text_memory import Writer, get_text_memory, upsert_topic
from agents.hot.topics import TopicDraft
from agents.models.distillation import Distillation
from agents.models.hot_memory import TextMemory, TextMemoryVersion
from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, HolamemError, NotFound
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.principals import Principal

SOURCE = "distillation"
TRIES = 5  # against other writers of the same topic

Stored = dict[str, Any]


def apply_planned(workspace: Workspace, *, session_id: UUID, scope_id: UUID) -> int:
    """Every decision of the session that is not carried out yet; returns how many."""
    with workspace_scope(workspace, [scope_id]):
        rows = workspace.distillations.filter(
            session_id=session_id, status=Distillation.Status.PLANNED
        )
        planned = list(rows.select_related("session__agent").order_by("from_seq"))
    for row in planned:
        _apply(workspace, row=row)
    return len(planned)


def _apply(workspace: Workspace, *, row: Distillation) -> None:
    for topic in dict.fromkeys(one["topic"] for one in row.statements):
        statements = [one for one in row.statements if one["topic"] == topic]
        _write_topic(workspace, row=row, topic=topic, statements=statements)
        faults.point("distill.topic_written")
    _send_events(workspace, row=row)
    faults.point("distill.events_sent")
    with workspace_scope(workspace, [row.scope_id]):
        workspace.distillations.filter(id=row.id, status=Distillation.Status.PLANNED).update(
            status=Distillation.Status.DONE, ended_at=now()
        )


def _write_topic(
    workspace: Workspace, *, row: Distillation, topic: str, statements: Sequence[Stored]
) -> None:
    """A topic that is full, or a person who was erased, takes nothing more; the rest goes on."""
    for _ in range(TRIES):
        content, version = _current(workspace, scope_id=row.scope_id, topic=topic)
        if marks_in(content) >= {_mark(one) for one in statements}:
            return
        for one in statements:
            content = with_statement(
                content, mark=_mark(one), text=one["text"], replaces=one["replaces"]
            )
        try:
            upsert_topic(
                workspace,
                scope_id=row.scope_id,
                topic=TopicDraft(topic, content, row.summaries[topic]),
                writer=Writer(TextMemoryVersion.Origin.DISTILLATION),
                expected_version=version,
            )
        except Conflict:
            continue
        except HolamemError as error:
            _note_refusal(workspace, row=row, topic=topic, reason=error.code)
        return
    raise Conflict("The topic is being written all the time.")


def _mark(one: Stored) -> str:
    return mark_of(UUID(one["id"]))


def _current(workspace: Workspace, *, scope_id: UUID, topic: str) -> tuple[str, int]:
    try:
        found = get_text_memory(
            workspace, scopes=[scope_id], scope_id=scope_id, kind=TextMemory.Kind.TOPIC, name=topic
        )
    except NotFound:
        return "", 0
    return found.content, found.version


def _note_refusal(workspace: Workspace, *, row: Distillation, topic: str, reason: str) -> None:
    """In the report of the pass. The statements stay: their durable side may still be taken."""
    row.dropped = [*row.dropped, {"text": topic, "reason": reason}]
    with workspace_scope(workspace, [row.scope_id]):
        workspace.distillations.filter(id=row.id).update(dropped=row.dropped)


def _send_events(workspace: Workspace, *, row: Distillation) -> None:
    """Of statements whose results are events of the workspace: where they come from can be shown.

    Nothing goes to memory from a session whose agent feeds none, since its results did not.
    """
    with workspace_scope(workspace, sorted({workspace.pk, row.scope_id})):
        user = workspace.end_users.filter(id=row.scope_id, erased_at=None).first()
    if user is None and row.scope_id != workspace.pk:
        return
    drafts = [
        _draft(row, one=one, owner=None if user is None else user.ref)
        for one in row.statements
        if one["event_ids"]
    ]
    if drafts:
        receive_events(workspace, drafts=drafts, principal=_principal(workspace, row=row))


def _draft(row: Distillation, *, one: Stored, owner: str | None) -> EventDraft:
    return EventDraft(
        kind=Event.Kind.DISTILLED_STATEMENT,
        text=one["text"],
        occurred_at=datetime.fromisoformat(one["said_at"]),
        user_id=owner,
        session=str(row.session_id),
        agent=row.session.agent.slug,
        source=SOURCE,
        external_id=f"statement:{one['id']}",
        evidence_event_ids=tuple(UUID(event_id) for event_id in one["event_ids"]),
        admission="accepted",
        metadata={"statement_id": one["id"], "topic": one["topic"]},
    )


def _principal(workspace: Workspace, *, row: Distillation) -> Principal:
    return Principal(
        label="distillation",
        tenant_id=workspace.tenant_id,
        workspace_id=workspace.id,
        end_user_id=None,
        end_user_ref=None,
        permissions=frozenset(),
        key_id=None,
        is_person=False,
    )
