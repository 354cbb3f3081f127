"""Steps 9 to 11 of the write path: the file first, then everything else in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F

from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from workspaces.bodies import WrittenBody, write_body
from workspaces.body_paths import leaf_path, scope_directory
from workspaces.index.entries import put_leaf_lexemes, put_vector, set_entry_status
from workspaces.models.entities import Entity
from workspaces.models.index import EmbeddingModel
from workspaces.models.jobs import Job
from workspaces.models.log import Category, Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LeafEntity, LeafSource, SourceLeaf, Tree
from workspaces.services.duplicates import Resolution, active_on_subject
from workspaces.services.jobs import ClaimedJob, add_job, require_lease
from workspaces.services.owners import Owner, make_owner
from workspaces.services.placement import Placement
from workspaces.services.policies import leaf_policy, trust_of
from workspaces.services.topology import mark_chain_stale, request_seal


class PlanChanged(RuntimeError):
    """What the plan was made from changed before the commit; plan again."""


@dataclass(frozen=True, slots=True)
class LeafPlan:
    """Everything that was decided about one chunk, ready to be committed."""

    event: Event
    chunk: Chunk
    owner: Owner
    placement: Placement
    resolution: Resolution
    language: str
    vector: Sequence[float] | None
    model: EmbeddingModel | None
    judged_by: str


def link_duplicate(workspace: Workspace, *, job: ClaimedJob, plan: LeafPlan) -> None:
    """The text is known: the event becomes a further source of the leaf that holds it."""
    leaf_id = plan.resolution.leaf_id
    with workspace_scope(workspace, [plan.event.scope_id]):
        leaf = workspace.leaves.select_for_update().filter(id__in=[leaf_id]).first()
        if leaf is None or not _still_holds(leaf, event=plan.event):
            raise PlanChanged
        require_lease(job)
        _link_source(workspace, plan=plan, leaf=leaf, is_creator=False)
        _settle_chunk(workspace, plan=plan, outcome=Chunk.Outcome.NOOP_DUPLICATE, leaf=leaf)
        faults.point("duplicate.before_commit")


def _still_holds(leaf: SourceLeaf, *, event: Event) -> bool:
    """Active, or a re-import: a leaf that was replaced meanwhile is no home for newer words."""
    if leaf.status in (SourceLeaf.Status.ERASING, SourceLeaf.Status.ERASED):
        return False
    is_reimport = leaf.observed_at == (event.occurred_at or event.received_at)
    return leaf.status == SourceLeaf.Status.ACTIVE or is_reimport


def commit_leaf(workspace: Workspace, *, job: ClaimedJob, plan: LeafPlan) -> None:
    """Write the body, then the leaf with all that hangs on it.

    Raises PlanChanged or IntegrityError when another worker was faster; the file that was
    written then has no row and is garbage.
    """
    leaf = _build_leaf(workspace, plan=plan)
    body = write_leaf_body(leaf, owner=plan.owner, text=plan.chunk.text)
    leaf.body_sha256, leaf.body_bytes = body.sha256, body.size
    faults.point("leaf.after_file")
    with workspace_scope(workspace, [plan.event.scope_id]):
        make_owner(plan.owner)
        tree = workspace.trees.select_for_update().get(id=plan.owner.tree.id)
        known = _lock_known(workspace, plan=plan)
        require_lease(job)
        if known is not None and plan.resolution.kind == "supersede":
            _retire_predecessor(workspace, old=known, new=leaf)
        if known is not None and plan.resolution.kind == "history":
            _place_in_history(leaf, newer=known)
        leaf.save(force_insert=True)
        faults.point("leaf.after_row")
        _attach(workspace, tree=tree, leaf=leaf, plan=plan)
        faults.point("leaf.before_commit")
    faults.point("leaf.after_commit")


def write_leaf_body(leaf: SourceLeaf, *, owner: Owner, text: str) -> WrittenBody:
    front_matter: dict[str, object] = {
        "id": str(leaf.id),
        "kind": "leaf",
        "workspace": str(leaf.workspace_id),
        "scope": str(leaf.scope_id),
        "tree": owner.tree.key,
        "category": str(leaf.category),
        "title": leaf.title,
        "observed_at": leaf.observed_at.isoformat(),
        "origin": str(leaf.origin_kind),
        "labels": list(leaf.labels),
        "supersedes": str(leaf.supersedes_leaf_id) if leaf.supersedes_leaf_id else None,
        "fingerprint": leaf.fingerprint,
    }
    if owner.entity is not None:
        front_matter["entity"] = {"type": str(owner.entity.type), "name": owner.entity.name}
    return write_body(leaf.body_path, front_matter=front_matter, markdown=text)


def _build_leaf(workspace: Workspace, *, plan: LeafPlan) -> SourceLeaf:
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
        body_path=leaf_path(scope_directory(workspace, tree=plan.owner.tree), leaf_id=leaf_id),
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


def _lock_known(workspace: Workspace, *, plan: LeafPlan) -> SourceLeaf | None:
    """The leaf that the plan rests on, still active; no leaf with the same text beside it."""
    same_text = workspace.leaves.filter(
        tree_id=plan.owner.tree.id,
        fingerprint=plan.chunk.fingerprint,
        status=SourceLeaf.Status.ACTIVE,
    )
    if same_text.exists():
        raise PlanChanged
    rivals = active_on_subject(
        workspace, tree_id=plan.owner.tree.id, subject_key=plan.placement.subject_key
    )
    if rivals != plan.resolution.rivals:
        raise PlanChanged  # another worker wrote on the same subject: compare again
    if plan.resolution.leaf_id is None:
        return None
    known = workspace.leaves.select_for_update().get(id=plan.resolution.leaf_id)
    if known.status != SourceLeaf.Status.ACTIVE:
        raise PlanChanged
    return known


def _retire_predecessor(workspace: Workspace, *, old: SourceLeaf, new: SourceLeaf) -> None:
    """Before the insert, so that the one active fingerprint a tree allows is free."""
    workspace.leaves.filter(id=old.id).update(
        status=SourceLeaf.Status.SUPERSEDED, valid_until=new.observed_at, superseded_by_id=new.id
    )
    set_entry_status(workspace, node_ids=[old.id], status=SourceLeaf.Status.SUPERSEDED)
    mark_chain_stale(workspace, start=[old.parent_id])


def _place_in_history(leaf: SourceLeaf, *, newer: SourceLeaf) -> None:
    """Older information that arrives late never takes the place of newer."""
    leaf.status = SourceLeaf.Status.SUPERSEDED
    leaf.superseded_by = newer
    # The newer leaf may have been stated first and confirmed since.
    leaf.valid_until = max(newer.observed_at, leaf.observed_at)


def _attach(workspace: Workspace, *, tree: Tree, leaf: SourceLeaf, plan: LeafPlan) -> None:
    """Links, search entries, counters, jobs and the chunk's result, all with the leaf."""
    secondary = list(
        workspace.entities.filter(id__in=plan.placement.secondary_ids, scope_id=leaf.scope_id)
    )
    _link_source(workspace, plan=plan, leaf=leaf, is_creator=True)
    LeafEntity.objects.bulk_create(
        LeafEntity(workspace=workspace, scope_id=leaf.scope_id, leaf=leaf, entity=entity)
        for entity in secondary
    )
    names = [entity.name for entity in _all_entities(plan.owner.entity, secondary)]
    put_leaf_lexemes(workspace, leaf=leaf, text=plan.chunk.text, entity_names=names)
    if plan.vector is not None and plan.model is not None:
        put_vector(workspace, node=leaf, model=plan.model, vector=plan.vector)
    _count(workspace, tree=tree, plan=plan)
    _queue_follow_ups(workspace, tree=tree, leaf=leaf)
    superseding = plan.resolution.kind == "supersede"
    outcome = Chunk.Outcome.SUPERSEDING if superseding else Chunk.Outcome.CREATED
    _settle_chunk(workspace, plan=plan, outcome=outcome, leaf=leaf)


def _all_entities(primary: Entity | None, secondary: list[Entity]) -> list[Entity]:
    """The fallback bucket's name says nothing about a leaf."""
    return [entity for entity in (primary, *secondary) if entity and not entity.is_system]


def _count(workspace: Workspace, *, tree: Tree, plan: LeafPlan) -> None:
    """By difference, not by counting: a write costs the same whatever the tree holds."""
    added = 1 if plan.resolution.kind == "new" else 0
    workspace.trees.filter(id=tree.id).update(
        leaf_count=F("leaf_count") + added, status=Tree.Status.ACTIVE, updated_at=now()
    )


def _queue_follow_ups(workspace: Workspace, *, tree: Tree, leaf: SourceLeaf) -> None:
    add_job(workspace, topic=Job.Topic.NODE_CREATED, target_id=leaf.id, scope_id=leaf.scope_id)
    request_seal(workspace, tree=tree)


def _link_source(
    workspace: Workspace, *, plan: LeafPlan, leaf: SourceLeaf, is_creator: bool
) -> None:
    LeafSource.objects.bulk_create(
        [
            LeafSource(
                workspace=workspace,
                scope_id=leaf.scope_id,
                leaf=leaf,
                event=plan.event,
                is_creator=is_creator,
            )
        ],
        ignore_conflicts=True,
    )


def _settle_chunk(workspace: Workspace, *, plan: LeafPlan, outcome: str, leaf: SourceLeaf) -> None:
    """The leaf's body has the text now, so the chunk's copy goes."""
    workspace.chunks.filter(id=plan.chunk.id).update(
        outcome=outcome,
        decision=plan.placement.decision if plan.event.category == Category.INTERACTION else "",
        reason=plan.chunk.reason,
        admission_confidence=plan.chunk.admission_confidence,
        match_confidence=plan.placement.match_confidence,
        create_confidence=plan.placement.create_confidence,
        judged_by=plan.judged_by,
        leaf=leaf,
        text="",
    )
