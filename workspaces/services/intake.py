"""Step 1 of the write path: receive events, mask secrets, store row and job in one commit."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError

from holamem.clock import now
from holamem.database.rows import insert_statement
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.database.statements import run_together
from holamem.errors import (
    Conflict,
    HolamemError,
    IdempotencyMismatch,
    InvalidInput,
    NotFound,
    PayloadTooLarge,
)
from holamem.text.normalise import is_blank, normalise
from holamem.text.secrets import MaskedText, mask_identifier, mask_json, mask_secrets
from workspaces.models.jobs import Job
from workspaces.models.log import Category, Event, IdempotencyRecord
from workspaces.models.tenancy import Workspace
from workspaces.services.end_users import check_ref, ensure_end_user
from workspaces.services.job_rows import NewJob, new_jobs_statement
from workspaces.services.jobs import wake_for
from workspaces.services.principals import Principal
from workspaces.services.revisions import lock_object, same_revision

EVENT_TEXT_BYTES = 1_000_000
BATCH_EVENTS = 500
ID_CHARACTERS = 200  # what every id's column holds
BATCH_WAKE_UPS = 4  # a woken worker takes all that is due; each wake-up costs a commit
INTEGRATION_KINDS = frozenset(
    {Event.Kind.INTEGRATION_RECORD, Event.Kind.DOCUMENT_REVISION, Event.Kind.SYNC_ITEM}
)


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event as a caller describes it. `occurred_at` is aware; the offset is kept beside it.

    `deleted`: an object of the integration category went away at its source; it has no text.
    """

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
    deleted: bool = False
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
    refuse_secret_names(user_id=draft.user_id or "")
    if draft.user_id is None and workspace.preferences.user_id == "required":
        raise InvalidInput("This workspace requires a user_id.", field="user_id")
    if draft.user_id == ALL_SCOPES:
        raise InvalidInput("A write names one end user.", field="user_id")
    check_ref(draft.user_id or "")
    return draft


def validate_draft(draft: EventDraft) -> EventDraft:
    """The rules between fields, and the masking of secrets before anything is stored."""
    if is_blank(draft.text) and not draft.deleted:
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
    if draft.deleted:
        _check_deletion(draft)
    return draft


def _check_deletion(draft: EventDraft) -> None:
    if draft.category != Category.INTEGRATION:
        raise InvalidInput("Only an object of an outside system is deleted there.", field="deleted")
    if draft.text:
        raise InvalidInput("What was deleted has no text.", field="text")


def _check_lineage(draft: EventDraft) -> None:
    for name in ("provider", "account", "external_id"):
        if not getattr(draft, name):
            raise InvalidInput(f"An integration event needs {name}.", field=name)
    check_provider(draft.provider)
    refuse_secret_names(provider=draft.provider, account=draft.account)


def check_provider(provider: str) -> None:
    """A tree's key is `provider:account`, and `interaction:…` is the key of an entity's tree."""
    if ":" in provider or provider.casefold() == Category.INTERACTION:
        raise InvalidInput("This cannot be the name of a provider.", field="provider")


def refuse_secret_names(**names: str) -> None:
    """These name trees and people in addresses and logs, so they are refused and not masked."""
    for field_name, value in names.items():
        if mask_secrets(value).kinds:
            raise InvalidInput(
                "A name must not hold a secret.", field=field_name, detail={"code": "secret"}
            )


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
        stored = store_events(workspace, events=events)
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


def store_events(workspace: Workspace, *, events: Sequence[Event]) -> list[Event]:
    """The rows in the order of the batch; a known source item is answered with its first event.

    Inside the caller's step, whose scopes hold every event's.

    Rows go in by the names of their items: two batches with the same items in another order
    would wait for each other. Jobs go in by the order of the batch, in which they are taken.
    """
    stored: dict[int, Event] = {}
    named = sorted(enumerate(events), key=lambda item: _item_name(item[1]))
    for index, event in named:
        known = _known_source_item(workspace, event=event, index=index)
        if known is None and event.external_id:
            run_together([insert_statement([event])])
        stored[index] = known or event
    new = {index: event for index, event in enumerate(events) if stored[index] is event}
    _store_with_jobs(workspace, new=new)
    return [stored[index] for index in range(len(events))]


def _store_with_jobs(workspace: Workspace, *, new: Mapping[int, Event]) -> None:
    """In one message: events whose items have no name, and the jobs of all, by place in the batch.

    What has a name is stored before, one by one, so that the same name again finds it.
    """
    jobs = {
        index: NewJob(Job.Topic.EVENT_RECEIVED, event.id, event.scope_id, priority=50)
        for index, event in new.items()
    }
    unnamed = [event for event in new.values() if not event.external_id]
    rows = [insert_statement(unnamed)] if unnamed else []
    queued = [new_jobs_statement(workspace, jobs=list(jobs.values()))] if jobs else []
    run_together([*rows, *queued])
    wake_for([job for index, job in jobs.items() if index < BATCH_WAKE_UPS])


def _item_name(event: Event) -> tuple[str, ...]:
    return (event.source, event.external_id, event.provider, event.account, event.scope_id.hex)


def _known_source_item(workspace: Workspace, *, event: Event, index: int) -> Event | None:
    """In integration another text is a revision; in interaction the name is the event."""
    if not event.external_id:
        return None
    if event.category == Category.INTEGRATION:
        lock_object(event)
        return same_revision(workspace, event=event)
    known = workspace.events.filter(
        source=event.source, external_id=event.external_id, category=event.category
    ).first()
    if known is not None and known.scope_id != event.scope_id:
        raise Conflict(
            "This source item was sent for another end user.",
            field="external_id",
            detail={"index": index},
        )
    return known


def build_event(workspace: Workspace, *, draft: EventDraft, scope_id: UUID) -> Event:
    """An unsaved row; secrets in text, metadata, names and ids are masked here and nowhere later."""
    masked = mask_secrets(draft.text)
    metadata, metadata_kinds = mask_json(draft.metadata)
    actor = mask_secrets(draft.actor)
    ids = {name: stored_identifier(workspace, value) for name, value in _identifiers(draft).items()}
    id_kinds = [kind for masked_id in ids.values() for kind in masked_id.kinds]
    return Event(
        workspace=workspace,
        scope_id=scope_id,
        kind=draft.kind,
        category=draft.category,
        source=ids["source"].text,
        external_id=ids["external_id"].text,
        provider=draft.provider,
        account=draft.account,
        session_ref=ids["session"].text,
        agent_ref=ids["agent"].text,
        run_ref=ids["run"].text,
        actor=actor.text[:ID_CHARACTERS],
        payload_text=masked.text,
        text_sha256=text_digest(masked.text),
        masked_kinds=sorted({*masked.kinds, *metadata_kinds, *actor.kinds, *id_kinds}),
        metadata=metadata,
        succeeded=draft.succeeded,
        deleted=draft.deleted,
        evidence_event_ids=list(draft.evidence_event_ids),
        admission_mode=draft.admission,
        occurred_at=draft.occurred_at,
        offset_minutes=draft.offset_minutes,
        received_at=now(),
    )


def stored_identifier(workspace: Workspace, value: str) -> MaskedText:
    """A caller's id as events of this workspace hold it; whoever looks for one asks here too."""
    return mask_identifier(value, salt=str(workspace.pk), limit=ID_CHARACTERS)


def _identifiers(draft: EventDraft) -> dict[str, str]:
    return {
        name: str(getattr(draft, name))
        for name in ("source", "external_id", "session", "agent", "run")
    }


def text_digest(text: str) -> str:
    return hashlib.sha256(normalise(text).encode()).hexdigest()
