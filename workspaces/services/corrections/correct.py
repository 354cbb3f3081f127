"""A person says how it really is: a new leaf of the same tree that supersedes the wrong one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError

from holamem import faults
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, HolamemError, InvalidInput
from holamem.ids import new_id
from holamem.text.languages import language_of
from holamem.text.normalise import fingerprint
from workspaces.bodies import delete_bodies
from workspaces.body_paths import leaf_path, scope_directory
from workspaces.index.entries import put_leaf_lexemes, set_entry_status
from workspaces.models.entities import Entity
from workspaces.models.jobs import Job
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LeafEntity, LeafSource, SourceLeaf
from workspaces.recall_mark import contains_recalled_text
from workspaces.services.admission import ACCEPTED_KINDS
from workspaces.services.chunking import HARD_CAP
from workspaces.services.corrections.changes import Author, Corrected, Scopes
from workspaces.services.corrections.leaf_state import (
    find_leaf,
    lock_leaf,
    lock_trees,
    refuse_same_text,
    refuse_source_owned,
    refuse_unless_active,
)
from workspaces.services.corrections.wording import Wording, named_entities, wording_of
from workspaces.services.entities.names import hold_entities
from workspaces.services.front_matter import Birth
from workspaces.services.holding import PlanChanged
from workspaces.services.intake import EventDraft, build_event, validate_draft
from workspaces.services.jobs import LeaseLost, add_job
from workspaces.services.leaf_bodies import write_leaf_body
from workspaces.services.owners import Owner
from workspaces.services.policies import leaf_policy, trust_of
from workspaces.services.principals import Principal
from workspaces.services.reindexing import entity_names
from workspaces.services.topology import mark_chain_stale, request_seal

SOURCE = "correction"
BY_A_PERSON = "person"


@dataclass(frozen=True, slots=True)
class _Draft:
    """Unsaved rows of one correction; `event.payload_text` is the text, masked."""

    event: Event
    chunk: Chunk
    leaf: SourceLeaf
    secondary: list[Entity]


def correct_leaf(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, leaf_id: UUID, text: str
) -> Corrected:
    """Raises NotFound; InvalidInput for a text that cannot be one memory; Conflict when the leaf
    is not the current one, belongs to its source, or its tree holds the text already.
    """
    leaf = find_leaf(workspace, scopes=scopes, leaf_id=leaf_id)
    return replace_text(workspace, leaf=leaf, text=text, author=Author(principal, "leaf.corrected"))


def replace_text(
    workspace: Workspace,
    *,
    leaf: SourceLeaf,
    text: str,
    author: Author,
    wording: Wording | None = None,
) -> Corrected:
    """The file first, then everything else in one transaction."""
    refuse_source_owned(leaf)
    with workspace_scope(workspace, [leaf.scope_id]):
        refuse_unless_active(workspace, leaf=leaf)
    draft = _draft(workspace, leaf=leaf, text=text, wording=wording)
    _write_body(draft, old=leaf)
    faults.point("correct.after_file")
    with removed_on_refusal(draft.leaf.body_path), workspace_scope(workspace, [leaf.scope_id]):
        return _commit(workspace, draft=draft, old_id=leaf.id, author=author)


@contextmanager
def removed_on_refusal(path: str) -> Iterator[None]:
    """A file whose transaction was refused is garbage; where that is not sure, it stays."""
    try:
        yield
    except (HolamemError, IntegrityError, PlanChanged, LeaseLost):
        delete_bodies([path])
        raise


def checked_text(text: str, *, kind: str, actor: str, session: str) -> EventDraft:
    """The draft of the event that a correction is. Raises InvalidInput, PayloadTooLarge."""
    if contains_recalled_text(text):
        raise InvalidInput(
            "This text was recalled from memory.", field="text", detail={"code": "recalled"}
        )
    return validate_draft(
        EventDraft(
            kind=kind,
            text=text,
            actor=actor,
            session=session,
            source=SOURCE,
            admission="accepted",
        )
    )


def _draft(workspace: Workspace, *, leaf: SourceLeaf, text: str, wording: Wording | None) -> _Draft:
    kind = leaf.origin_kind if leaf.origin_kind in ACCEPTED_KINDS else Event.Kind.USER_MESSAGE
    checked = checked_text(text, kind=kind, actor=leaf.actor, session=leaf.session_ref)
    event = build_event(workspace, draft=checked, scope_id=leaf.scope_id)
    event.status = Event.Status.PROCESSED
    event.metadata = {"corrects": str(leaf.id)}
    if leaf.observed_at > event.received_at:  # a caller's clock was ahead
        event.occurred_at = leaf.observed_at
    if len(event.payload_text) > HARD_CAP:
        raise InvalidInput(
            f"One memory has at most {HARD_CAP} characters.",
            field="text",
            detail={"code": "max_length"},
        )
    chunk = _chunk(event)
    words = wording or wording_of(event.payload_text, entity_name=_name(leaf.entity))
    with workspace_scope(workspace, [leaf.scope_id]):
        named = named_entities(
            workspace, scope_id=leaf.scope_id, owner_id=leaf.entity_id, text=event.payload_text
        )
        secondary = list(workspace.entities.filter(id__in=named).order_by("id"))
    new = _successor(workspace, old=leaf, event=event, chunk=chunk, words=words)
    return _Draft(event=event, chunk=chunk, leaf=new, secondary=secondary)


def _name(entity: Entity | None) -> str | None:
    """The fallback bucket's name says nothing about a leaf."""
    return None if entity is None or entity.is_system else entity.name


def _chunk(event: Event) -> Chunk:
    """The whole text as one chunk, settled: its leaf's body has the text."""
    return Chunk(
        workspace_id=event.workspace_id,
        scope_id=event.scope_id,
        event=event,
        position=0,
        start=0,
        end=len(event.payload_text),
        fingerprint=fingerprint(event.payload_text),
        outcome=Chunk.Outcome.SUPERSEDING,
        reason="accepted",
        admission_confidence=1.0,
        judged_by=BY_A_PERSON,
    )


def _successor(
    workspace: Workspace, *, old: SourceLeaf, event: Event, chunk: Chunk, words: Wording
) -> SourceLeaf:
    policy = leaf_policy(old.entity.type if old.entity else None)
    leaf_id = new_id()
    return SourceLeaf(
        id=leaf_id,
        workspace=workspace,
        scope_id=old.scope_id,
        category=old.category,
        tree_id=old.tree_id,
        chunk=chunk,
        entity_id=old.entity_id,
        origin_kind=event.kind,
        session_ref=old.session_ref,
        actor=old.actor,
        title=words.title,
        summary=words.summary,
        body_path=leaf_path(scope_directory(workspace, tree=old.tree), leaf_id=leaf_id),
        fingerprint=chunk.fingerprint,
        subject_key=old.subject_key,
        observed_at=event.occurred_at or event.received_at,
        confidence=1.0,
        verification_policy=policy.verification,
        staleness_policy=policy.staleness,
        stale_after_days=policy.stale_after_days,
        supersedes_leaf_id=old.id,
        labels=list(words.labels),
        language=language_of(event.payload_text),
        trust=trust_of(event.kind),
    )


def _write_body(draft: _Draft, *, old: SourceLeaf) -> None:
    owner = Owner(entity=old.entity, tree=old.tree, entity_is_new=False, tree_is_new=False)
    birth = Birth(
        event=draft.event,
        chunk=draft.chunk,
        judged_by=BY_A_PERSON,
        secondary_ids=[entity.id for entity in draft.secondary],
    )
    text = draft.event.payload_text
    body = write_leaf_body(draft.leaf, owner=owner, text=text, birth=birth)
    draft.leaf.body_sha256, draft.leaf.body_bytes = body.sha256, body.size


def _commit(workspace: Workspace, *, draft: _Draft, old_id: UUID, author: Author) -> Corrected:
    new = draft.leaf
    tree = lock_trees(workspace, tree_ids=[new.tree_id])[new.tree_id]
    # Their names are in the search text.
    hold_entities(workspace, ids=_entity_ids(draft))
    old = lock_leaf(workspace, leaf_id=old_id)
    refuse_unless_active(workspace, leaf=old)
    refuse_same_text(workspace, tree_id=tree.id, fingerprint=new.fingerprint)
    if old.observed_at > new.observed_at:
        raise Conflict("This leaf changed while it was being corrected.")
    # Before the insert, so that the one active fingerprint a tree allows is free.
    _supersede(workspace, old=old, new=new)
    draft.event.save(force_insert=True)
    draft.chunk.leaf_id = new.id
    draft.chunk.save(force_insert=True)
    new.save(force_insert=True)
    _link(workspace, draft=draft)
    add_job(workspace, topic=Job.Topic.NODE_CREATED, target_id=new.id, scope_id=new.scope_id)
    request_seal(workspace, tree=tree)
    audit_id = author.record(
        workspace,
        scope_id=new.scope_id,
        target_id=new.id,
        detail={"replaces": str(old.id), "tree": tree.key},
    )
    return Corrected(leaf_id=new.id, replaces=old.id, audit_id=audit_id)


def _entity_ids(draft: _Draft) -> list[UUID]:
    owner = [draft.leaf.entity_id] if draft.leaf.entity_id else []
    return [*owner, *(entity.id for entity in draft.secondary)]


def _supersede(workspace: Workspace, *, old: SourceLeaf, new: SourceLeaf) -> None:
    workspace.leaves.filter(id=old.id).update(
        status=SourceLeaf.Status.SUPERSEDED, valid_until=new.observed_at, superseded_by_id=new.id
    )
    set_entry_status(workspace, node_ids=[old.id], status=SourceLeaf.Status.SUPERSEDED)
    mark_chain_stale(workspace, start=[old.parent_id])


def _link(workspace: Workspace, *, draft: _Draft) -> None:
    """Source, secondary entities and lexemes: findable by text at once, by vector soon."""
    leaf = draft.leaf
    LeafSource.objects.create(
        workspace=workspace,
        scope_id=leaf.scope_id,
        leaf=leaf,
        event=draft.event,
        is_creator=True,
    )
    LeafEntity.objects.bulk_create(
        LeafEntity(workspace=workspace, scope_id=leaf.scope_id, leaf=leaf, entity=entity)
        for entity in draft.secondary
    )
    names = entity_names(workspace, leaf=leaf)
    put_leaf_lexemes(workspace, leaf=leaf, text=draft.event.payload_text, entity_names=names)
