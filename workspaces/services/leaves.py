"""Steps 9 to 11 of the write path: the file first, then everything else in one transaction."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection

from holamem import faults
from holamem.database.rows import insert_statement, read_rows
from holamem.database.scope import workspace_scope
from holamem.database.statements import run_together
from holamem.ids import new_id
from workspaces.bodies import (
    WrittenBody,
    delete_bodies,
    render_body,
    save_bodies,
    written_body,
)
from workspaces.body_paths import leaf_path, scope_directory
from workspaces.index.entries import set_entry_status
from workspaces.models.entities import Entity
from workspaces.models.log import Category, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.duplicates import MAX_RIVALS
from workspaces.services.entities.names import HOLD_ENTITIES
from workspaces.services.entities.resolving import present_ids
from workspaces.services.erasure.texts import (
    ERASED_BY,
    TextErased,
    refuse_erased,
    refuse_gone,
    statement_values,
)
from workspaces.services.front_matter import Birth, leaf_front_matter, with_checksum
from workspaces.services.history import place_in_history
from workspaces.services.job_rows import HELD_LEASES, lease_values, new_jobs_statement
from workspaces.services.jobs import (
    ClaimedJob,
    LeaseLost,
    require_lease,
    wake_for,
)
from workspaces.services.leaf_rows import (
    LeafPlan,
    duplicate_statements,
    follow_ups,
    leaf_statements,
)
from workspaces.services.lineage import Part, end_at_source, resolve_part
from workspaces.services.owners import Owner, make_owner
from workspaces.services.policies import leaf_policy, trust_of
from workspaces.services.topology import mark_chain_stale


class PlanChanged(RuntimeError):
    """What the plan was made from changed before the commit; plan again."""


def link_duplicate(workspace: Workspace, *, job: ClaimedJob, plan: LeafPlan) -> None:
    """The text is known: the event becomes a further source of the leaf that holds it."""
    with workspace_scope(workspace, [plan.event.scope_id]):
        leaf = _lock_holder(workspace, plan=plan)
        refuse_erased(workspace, event=plan.event, fingerprint=plan.chunk.fingerprint)
        require_lease(job)
        run_together(duplicate_statements(workspace, plan=plan, leaf=leaf))
        faults.point("duplicate.before_commit")


def _lock_holder(workspace: Workspace, *, plan: LeafPlan) -> SourceLeaf:
    """The leaf that holds the text, if it still does; in integration the tree says so."""
    if plan.event.category == Category.INTEGRATION:
        workspace.trees.select_for_update().get(id=plan.owner.tree.id)
        leaf = _lock_part(workspace, plan=plan)
        holds = leaf is not None
    else:
        rows = workspace.leaves.select_for_update()
        leaf = rows.filter(id__in=[plan.resolution.leaf_id]).first()
        holds = leaf is not None and _still_holds(leaf, event=plan.event)
    if leaf is None or not holds:
        refuse_gone(workspace, event=plan.event, leaf_id=plan.resolution.leaf_id)
        raise PlanChanged
    return leaf


def _still_holds(leaf: SourceLeaf, *, event: Event) -> bool:
    """Active, or a re-import: a leaf that was replaced meanwhile is no home for newer words."""
    if leaf.status in (SourceLeaf.Status.ERASING, SourceLeaf.Status.ERASED):
        return False
    is_reimport = leaf.observed_at == (event.occurred_at or event.received_at)
    return leaf.status == SourceLeaf.Status.ACTIVE or is_reimport


def commit_leaf(workspace: Workspace, *, job: ClaimedJob, plan: LeafPlan) -> None:
    """Write the body, then the leaf with all that hangs on it.

    Raises PlanChanged or IntegrityError when another worker was faster, and TextErased. The file
    that was written then has no row, and goes: its text may be erased meanwhile.
    """
    directory = scope_directory(workspace, tree=plan.owner.tree)
    leaf = build_leaf(workspace, plan=plan, directory=directory)
    birth = birth_of(workspace, plan=plan)
    body = write_leaf_body(leaf, owner=plan.owner, text=plan.chunk.text, birth=birth)
    leaf.body_sha256, leaf.body_bytes = body.sha256, body.size
    faults.point("leaf.after_file")
    with removed_on_refusal([leaf.body_path]), workspace_scope(workspace, [plan.event.scope_id]):
        make_owner(plan.owner)
        held = _hold(workspace, job=job, plan=plan)
        known = _lock_known(workspace, plan=plan, beside=held)
        if known is not None and plan.resolution.kind == "supersede":
            _retire_predecessor(workspace, old=known, new=leaf)
        if known is not None and plan.resolution.kind == "history":
            place_in_history(workspace, leaf=leaf, newer=known)
        end_at_source(leaf, until=plan.resolution.until)
        jobs = follow_ups(leaf, plan=plan)
        run_together(
            [
                insert_statement([leaf]),
                *leaf_statements(workspace, plan=plan, leaf=leaf, entities=held.entities),
                new_jobs_statement(workspace, jobs=jobs),
            ]
        )
        faults.point("leaf.after_row")
        wake_for(jobs)
        faults.point("leaf.before_commit")
    faults.point("leaf.after_commit")


@contextmanager
def removed_on_refusal(paths: Sequence[str]) -> Iterator[None]:
    """Only where it is sure that nothing was committed."""
    try:
        yield
    except (PlanChanged, TextErased, LeaseLost, IntegrityError):
        delete_bodies(paths)
        raise


def _entity_ids(workspace: Workspace, *, plan: LeafPlan) -> list[UUID]:
    """The primary entity, then the secondary ones as they are today."""
    planned = plan.owner.entity
    given = [UUID(secondary) for secondary in plan.placement.secondary_ids]
    ids = [planned.id] if planned is not None else []
    return list(dict.fromkeys([*ids, *(present_ids(workspace, ids=given) if given else [])]))


def in_order(plan: LeafPlan, *, ids: Sequence[UUID], rows: Iterable[Entity]) -> list[Entity]:
    """Raises PlanChanged when somebody renamed or merged them since the plan was made."""
    held = {entity.id: entity for entity in rows}
    known = [held[key] for key in ids if held[key].scope_id == plan.owner.tree.scope_id]
    if any(entity.merged_into_id is not None for entity in known):
        raise PlanChanged
    planned = plan.owner.entity
    if planned is not None and known[0].name != planned.name:
        raise PlanChanged
    return known


def write_leaf_body(
    leaf: SourceLeaf, *, owner: Owner, text: str, birth: Birth | None = None
) -> WrittenBody:
    data = leaf_body(leaf, owner=owner, text=text, birth=birth)
    save_bodies({leaf.body_path: data})
    return written_body(leaf.body_path, data)


def leaf_body(leaf: SourceLeaf, *, owner: Owner, text: str, birth: Birth | None) -> bytes:
    head = leaf_front_matter(leaf, tree=owner.tree, entity=owner.entity, birth=birth)
    return render_body(with_checksum(head, markdown=text), text)


def birth_of(workspace: Workspace, *, plan: LeafPlan) -> Birth:
    """What the plan knows and the leaf's row does not."""
    return Birth(
        event=plan.event,
        chunk=plan.chunk,
        decision=plan.placement.decision if plan.event.category == Category.INTERACTION else "",
        match_confidence=plan.placement.match_confidence,
        create_confidence=plan.placement.create_confidence,
        judged_by=plan.judged_by,
        secondary_ids=[UUID(given) for given in plan.placement.secondary_ids],
        newer_id=plan.resolution.leaf_id if plan.resolution.kind == "history" else None,
        ended_at=plan.resolution.until,
        proof_ids=_proof_ids(workspace, event=plan.event),
    )


def _proof_ids(workspace: Workspace, *, event: Event) -> list[UUID]:
    if not event.evidence_event_ids:
        return []
    with workspace_scope(workspace, [event.scope_id]):
        proofs = workspace.events.filter(
            id__in=event.evidence_event_ids, kind=Event.Kind.TOOL_RESULT, succeeded=True
        )
        return list(proofs.order_by("id").values_list("id", flat=True))


def build_leaf(workspace: Workspace, *, plan: LeafPlan, directory: str) -> SourceLeaf:
    event, placement, entity = plan.event, plan.placement, plan.owner.entity
    policy = leaf_policy(entity.type if entity else None)
    leaf_id = new_id()
    return SourceLeaf(
        id=leaf_id,
        workspace=workspace,
        scope_id=event.scope_id,
        category=event.category,
        tree_id=plan.owner.tree.id,
        chunk=plan.chunk,
        entity_id=entity.id if entity else None,
        origin_kind=event.kind,
        session_ref=event.session_ref,
        actor=event.actor,
        title=placement.title,
        summary=placement.summary,
        body_path=leaf_path(directory, leaf_id=leaf_id),
        fingerprint=plan.chunk.fingerprint,
        subject_key=placement.subject_key,
        observed_at=event.occurred_at or event.received_at,
        confidence=plan.chunk.admission_confidence or 0.0,
        verification_policy=policy.verification,
        staleness_policy=policy.staleness,
        stale_after_days=policy.stale_after_days,
        supersedes_leaf_id=plan.resolution.leaf_id if plan.resolution.kind == "supersede" else None,
        labels=list(placement.labels),
        language=plan.language,
        trust=trust_of(event.kind),
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """Active leaves of the tree as they are once its row is held, and the leaf's entities.

    Until the commit nobody renames or merges the entities.
    """

    has_same_text: bool
    rivals: tuple[UUID, ...]
    entities: list[Entity]


def _lock_known(workspace: Workspace, *, plan: LeafPlan, beside: _Held) -> SourceLeaf | None:
    """The leaf that the plan rests on, still active; no leaf with the same text beside it."""
    if plan.event.category == Category.INTEGRATION:
        return _lock_part(workspace, plan=plan)
    if beside.has_same_text:
        raise PlanChanged
    if beside.rivals != plan.resolution.rivals:
        raise PlanChanged  # another worker wrote on the same subject: compare again
    if plan.resolution.leaf_id is None:
        return None
    known = workspace.leaves.select_for_update().get(id=plan.resolution.leaf_id)
    if known.status != SourceLeaf.Status.ACTIVE:
        raise PlanChanged
    return known


def _lock_part(workspace: Workspace, *, plan: LeafPlan) -> SourceLeaf | None:
    """Inside the step, the tree's row locked: decided again by the revisions of the object."""
    decided = Part(plan.resolution, plan.placement.subject_key)
    tree = plan.owner.tree
    if resolve_part(workspace, event=plan.event, chunk=plan.chunk, tree=tree) != decided:
        raise PlanChanged
    if plan.resolution.leaf_id is None:
        return None
    return workspace.leaves.select_for_update().get(id=plan.resolution.leaf_id)


def _retire_predecessor(workspace: Workspace, *, old: SourceLeaf, new: SourceLeaf) -> None:
    """Before the insert, so that the one active fingerprint a tree allows is free."""
    workspace.leaves.filter(id=old.id).update(
        status=SourceLeaf.Status.SUPERSEDED, valid_until=new.observed_at, superseded_by_id=new.id
    )
    set_entry_status(workspace, node_ids=[old.id], status=SourceLeaf.Status.SUPERSEDED)
    mark_chain_stale(workspace, start=[old.parent_id])


# Whoever writes to a tree takes its row first, and waits here for the others; the statements after
# it see what they have committed. One message for all.
_HOLD_TREE = """
SELECT 1 FROM workspaces_tree WHERE workspace_id = %(workspace)s AND id = %(tree)s FOR UPDATE;
SELECT EXISTS (SELECT 1 FROM workspaces_sourceleaf
                WHERE workspace_id = %(workspace)s AND tree_id = %(tree)s
                  AND fingerprint = %(fingerprint)s AND status = 'active'),
       ARRAY(SELECT id FROM workspaces_sourceleaf
              WHERE workspace_id = %(workspace)s AND tree_id = %(tree)s
                AND subject_key = %(subject)s AND subject_key <> '' AND status = 'active'
              ORDER BY id DESC LIMIT %(rivals)s)
"""
_HOLD = f"{_HOLD_TREE};{ERASED_BY};{HOLD_ENTITIES};{HELD_LEASES}"


def _hold(workspace: Workspace, *, job: ClaimedJob, plan: LeafPlan) -> _Held:
    """Raises PlanChanged when the tree or an entity changed, TextErased and LeaseLost."""
    ids = _entity_ids(workspace, plan=plan)
    event, fingerprint = plan.event, plan.chunk.fingerprint
    values: dict[str, Any] = {
        **statement_values(workspace, event=event, fingerprint=fingerprint),
        **lease_values({job.id: job.lease_token}),
        "tree": plan.owner.tree.id,
        "subject": plan.placement.subject_key,
        "rivals": MAX_RIVALS,
        "entities": ids,
    }
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, values)
        if cursor.fetchone() is None:
            raise PlanChanged
        cursor.nextset()
        has_same_text, rivals = cursor.fetchone()
        cursor.nextset()
        if cursor.fetchone() is not None:
            raise TextErased
        cursor.nextset()
        entities = in_order(plan, ids=ids, rows=read_rows(Entity, cursor))
        cursor.nextset()
        if cursor.fetchone() is None:
            raise LeaseLost
    return _Held(has_same_text, tuple(rivals), entities)
