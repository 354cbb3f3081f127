"""Step 1 of the write path: receive events, mask secrets, store row and job in one commit."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError

from holamem.clock import now, offset_minutes
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import (
    Conflict,
    HolamemError,
    IdempotencyMismatch,
    InvalidInput,
    NotFound,
    PayloadTooLarge,
)
from holamem.text.normalise import is_blank, normalise
from holamem.text.secrets import mask_json, mask_secrets
from workspaces.models.jobs import Job
from workspaces.models.log import Category, Event, IdempotencyRecord
from workspaces.models.tenancy import Workspace
from workspaces.services.end_users import ensure_end_user
from workspaces.services.jobs import add_job
from workspaces.services.principals import Principal
from workspaces.services.revisions import same_revision

EVENT_TEXT_BYTES = 1_000_000
BATCH_EVENTS = 500
BATCH_WAKE_UPS = 4  # a woken worker takes all that is due; each wake-up costs a commit
INTEGRATION_KINDS = frozenset(
    {Event.Kind.INTEGRATION_RECORD, Event.Kind.DOCUMENT_REVISION, Event.Kind.SYNC_ITEM}
)


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event as a caller describes it. `occurred_at` is aware; the offset is kept beside it."""

    kind: str
    text: str
    occurred_at: datetime | None = None
    offset_minutes: int | None = None
    user_id: str | None = None
    actor: str = ""
    session: str = ""
    agent: str = ""
    run: str = ""
    source: str = ""
    external_id: str = ""
    category: str = Category.INTERACTION
    provider: str = ""
    account: str = ""
    succeeded: bool | None = None
    evidence_event_ids: tuple[UUID, ...] = ()
    admission: str = "auto"
    metadata: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IdempotencyRequest:
    """`path` is concrete, with its workspace; `body_sha256` is over the request's bytes."""

    api_key_id: UUID
    path: str
    key: str
    body_sha256: str


@dataclass(frozen=True, slots=True)
class Received:
    """In the order of the drafts. `replayed` when this answers an earlier request again."""

    event_ids: list[UUID]
    statuses: list[str]
    replayed: bool = False


def receive_events(
    workspace: Workspace,
    *,
    drafts: Sequence[EventDraft],
    principal: Principal,
    idempotency: IdempotencyRequest | None = None,
) -> Received:
    """Store all drafts or none. A source item that is known already answers with its first event.

    Raises InvalidInput, PayloadTooLarge or NotFound with `detail["index"]` naming the draft,
    and IdempotencyMismatch when the key came with another body.
    """
    if not drafts or len(drafts) > BATCH_EVENTS:
        raise InvalidInput(f"A batch holds 1 to {BATCH_EVENTS} events.", field="events")
    prepared = [
        prepare_draft(workspace, draft=draft, principal=principal, index=index)
        for index, draft in enumerate(drafts)
    ]
    # Built (and masked) before the transaction: eight megabytes take seconds.
    events = [build_event(workspace, draft=d, scope_id=workspace.id) for d in prepared]
    for _ in range(3):
        try:
            return _store(workspace, drafts=prepared, events=events, idempotency=idempotency)
        except IntegrityError:
            # The same key or source item committed meanwhile; now it is there to be read.
            continue
    raise Conflict("The same events are being written by another request.")


def prepare_draft(
    workspace: Workspace, *, draft: EventDraft, principal: Principal, index: int
) -> EventDraft:
    """The draft as it may be stored; errors carry `detail["index"]`."""
    try:
        checked = _bound_to_principal(workspace, draft=draft, principal=principal)
        return validate_draft(checked)
    except HolamemError as error:
        error.detail["index"] = index
        raise


def _bound_to_principal(
    workspace: Workspace, *, draft: EventDraft, principal: Principal
) -> EventDraft:
    """A key of one end user writes that user's memory and nobody else's."""
    if principal.end_user_id is not None:
        if draft.user_id not in (None, principal.end_user_ref):
            raise NotFound("There is no such end user.", field="user_id")
        return replace(draft, user_id=principal.end_user_ref)
    if draft.user_id is None and workspace.preferences.user_id == "required":
        raise InvalidInput("This workspace requires a user_id.", field="user_id")
    if draft.user_id == ALL_SCOPES:
        raise InvalidInput("A write names one end user.", field="user_id")
    return draft


def validate_draft(draft: EventDraft) -> EventDraft:
    """The rules between fields, and the masking of secrets before anything is stored."""
    if is_blank(draft.text):
        raise InvalidInput("The text is blank.", field="text", detail={"code": "blank"})
    if len(draft.text.encode()) > EVENT_TEXT_BYTES:
        raise PayloadTooLarge("The text of an event is at most 1 MB.", field="text")
    if draft.succeeded is not None and draft.kind != Event.Kind.TOOL_RESULT:
        raise InvalidInput("Only a tool_result has succeeded.", field="succeeded")
    if draft.kind in INTEGRATION_KINDS:
        draft = replace(draft, category=Category.INTEGRATION)
    if draft.category == Category.INTEGRATION:
        _check_lineage(draft)
    elif draft.provider or draft.account:
        raise InvalidInput("Only integration events have a provider.", field="provider")
    return draft


def _check_lineage(draft: EventDraft) -> None:
    for name in ("provider", "account", "external_id"):
        if not getattr(draft, name):
            raise InvalidInput(f"An integration event needs {name}.", field=name)
    # A tree's key is `provider:account`, and `interaction:…` is the key of an entity's tree.
    if ":" in draft.provider or draft.provider.casefold() == Category.INTERACTION:
        raise InvalidInput("This cannot be the name of a provider.", field="provider")


def _store(
    workspace: Workspace,
    *,
    drafts: Sequence[EventDraft],
    events: Sequence[Event],
    idempotency: IdempotencyRequest | None,
) -> Received:
    """One transaction: earlier answer, end users, events, jobs, and the answer to replay."""
    with workspace_scope(workspace, ALL_SCOPES):
        replay = _earlier_answer(workspace, idempotency=idempotency)
        if replay is not None:
            return replay
        scopes = _scopes_of(workspace, drafts=drafts)
        for event, draft in zip(events, drafts, strict=True):
            event.scope_id = scopes[draft.user_id]
        stored = _store_events(workspace, events=events)
        received = Received([event.id for event in stored], [event.status for event in stored])
        _keep_answer(workspace, idempotency=idempotency, received=received)
    return received


def _earlier_answer(
    workspace: Workspace, *, idempotency: IdempotencyRequest | None
) -> Received | None:
    if idempotency is None:
        return None
    record = workspace.idempotency_records.filter(
        api_key_id=idempotency.api_key_id, path=idempotency.path, key=idempotency.key
    ).first()
    if record is None:
        return None
    if record.body_sha256 != idempotency.body_sha256:
        raise IdempotencyMismatch("This Idempotency-Key was used with another body.")
    return Received(
        [UUID(event_id) for event_id in record.answer["event_ids"]],
        list(record.answer["statuses"]),
        replayed=True,
    )


def _keep_answer(
    workspace: Workspace, *, idempotency: IdempotencyRequest | None, received: Received
) -> None:
    if idempotency is None:
        return
    IdempotencyRecord.objects.create(
        workspace=workspace,
        scope_id=workspace.id,
        api_key_id=idempotency.api_key_id,
        path=idempotency.path,
        key=idempotency.key,
        body_sha256=idempotency.body_sha256,
        answer_status=202,
        answer={
            "event_ids": [str(event_id) for event_id in received.event_ids],
            "statuses": received.statuses,
        },
    )


def _scopes_of(workspace: Workspace, *, drafts: Sequence[EventDraft]) -> dict[str | None, UUID]:
    refs = sorted({draft.user_id for draft in drafts if draft.user_id is not None})
    scopes: dict[str | None, UUID] = {ref: ensure_end_user(workspace, ref=ref) for ref in refs}
    scopes[None] = workspace.id
    return scopes


def _store_events(workspace: Workspace, *, events: Sequence[Event]) -> list[Event]:
    """The rows in the order of the batch; a known source item is answered with its first event.

    Rows go in by the names of their items: two batches with the same items in another order
    would wait for each other. Jobs go in by the order of the batch, in which they are taken.
    """
    stored: dict[int, Event] = {}
    named = sorted(enumerate(events), key=lambda item: (item[1].source, item[1].external_id))
    for index, event in named:
        known = _known_source_item(workspace, event=event, index=index)
        if known is None:
            event.save(force_insert=True)
        stored[index] = known or event
    for index, event in enumerate(events):
        if stored[index] is event:
            _queue(workspace, event=event, wake=index < BATCH_WAKE_UPS)
    return [stored[index] for index in range(len(events))]


def _queue(workspace: Workspace, *, event: Event, wake: bool) -> None:
    add_job(
        workspace,
        topic=Job.Topic.EVENT_RECEIVED,
        target_id=event.id,
        scope_id=event.scope_id,
        priority=50,
        wake=wake,
    )


def _known_source_item(workspace: Workspace, *, event: Event, index: int) -> Event | None:
    """In integration another text is a revision; in interaction the name is the event."""
    if not event.external_id:
        return None
    rows = workspace.events.filter(
        source=event.source, external_id=event.external_id, category=event.category
    )
    if event.category == Category.INTEGRATION:
        return same_revision(
            rows.filter(provider=event.provider, account=event.account, scope_id=event.scope_id),
            event=event,
        )
    known = rows.first()
    if known is not None and known.scope_id != event.scope_id:
        raise Conflict(
            "This source item was sent for another end user.",
            field="external_id",
            detail={"index": index},
        )
    return known


def build_event(workspace: Workspace, *, draft: EventDraft, scope_id: UUID) -> Event:
    """An unsaved row; secrets in text and metadata are masked here and nowhere later."""
    masked = mask_secrets(draft.text)
    metadata, metadata_kinds = mask_json(draft.metadata)
    return Event(
        workspace=workspace,
        scope_id=scope_id,
        kind=draft.kind,
        category=draft.category,
        source=draft.source,
        external_id=draft.external_id,
        provider=draft.provider,
        account=draft.account,
        session_ref=draft.session,
        agent_ref=draft.agent,
        run_ref=draft.run,
        actor=draft.actor,
        payload_text=masked.text,
        text_sha256=text_digest(draft.text),
        masked_kinds=sorted({*masked.kinds, *metadata_kinds}),
        metadata=metadata,
        succeeded=draft.succeeded,
        evidence_event_ids=list(draft.evidence_event_ids),
        admission_mode=draft.admission,
        occurred_at=draft.occurred_at,
        offset_minutes=draft.offset_minutes,
        received_at=now(),
    )


def text_digest(text: str) -> str:
    return hashlib.sha256(normalise(text).encode()).hexdigest()


ROLE_KINDS = {
    "user": Event.Kind.USER_MESSAGE,
    "assistant": Event.Kind.ASSISTANT_TURN,
    "tool": Event.Kind.TOOL_RESULT,
}


def messages_to_drafts(
    messages: Sequence[Mapping[str, object]], *, user_id: str | None, session: str
) -> list[EventDraft]:
    """Chat messages in the OpenAI or Anthropic shape; system text is left out, tool results kept.

    `created_at` is an aware datetime or absent. Raises InvalidInput naming messages[i].
    """
    drafts: list[EventDraft] = []
    for index, message in enumerate(messages):
        created_at = _moment(message.get("created_at"))
        drafts += [
            EventDraft(
                kind=part.kind,
                text=part.text,
                occurred_at=created_at,
                offset_minutes=offset_minutes(created_at),
                user_id=user_id,
                session=session,
                actor=str(message.get("name") or ""),
                succeeded=part.succeeded,
            )
            for part in _message_parts(message, index=index)
        ]
    return drafts


def _moment(value: object) -> datetime | None:
    return value if isinstance(value, datetime) else None


@dataclass(frozen=True, slots=True)
class _Part:
    """`succeeded` None: the message shape does not say."""

    kind: str
    text: str
    succeeded: bool | None = None


def _message_parts(message: Mapping[str, object], *, index: int) -> list[_Part]:
    role, content = message.get("role"), message.get("content")
    if role in ("system", "developer"):
        return []
    if not isinstance(role, str) or role not in ROLE_KINDS:
        raise InvalidInput("Unknown role.", field=f"messages[{index}].role")
    if isinstance(content, str):
        return [] if is_blank(content) else [_Part(ROLE_KINDS[role], content)]
    if content is None:
        return []
    if not isinstance(content, Sequence):
        raise InvalidInput("Expected text or parts.", field=f"messages[{index}].content")
    return [part for block in content for part in _block_parts(block, kind=ROLE_KINDS[role])]


def _block_parts(block: object, *, kind: str) -> list[_Part]:
    """Text parts keep the message's kind; an Anthropic tool_result block becomes a tool result."""
    if not isinstance(block, Mapping):
        return []
    if block.get("type") != "tool_result":
        text = block.get("text")
        return [_Part(kind, text)] if isinstance(text, str) and not is_blank(text) else []
    content = block.get("content")
    if isinstance(content, str):
        inner: Sequence[object] = [{"type": "text", "text": content}]
    else:
        inner = content if isinstance(content, Sequence) else []
    failed = False if block.get("is_error") is True else None
    return [
        replace(part, succeeded=failed)
        for item in inner
        for part in _block_parts(item, kind=Event.Kind.TOOL_RESULT)
    ]
