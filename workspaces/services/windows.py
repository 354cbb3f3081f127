"""Several chunks planned together, as if they came one by one.

Memory is read once for all of them, and each chunk is judged in its turn by what was read and by
what the chunks before it are about to leave. A window ends before a chunk for which that is not
enough: one that is history, or bears on a leaf that is not committed, is planned when those before
it are; one that makes an entity or a tree is planned alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from uuid import UUID

from holamem import faults
from holamem.text.normalise import normalise_name
from workspaces.index.embedding import current_model
from workspaces.judging.base import EntityCandidate, Judge, LeafView
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.ahead import Judged
from workspaces.services.called import Said, called_in
from workspaces.services.duplicates import (
    Resolution,
    by_time,
    closest,
    judged_relation,
    last_stated,
    leaf_views,
)
from workspaces.services.jobs import ClaimedJob
from workspaces.services.known_leaves import (
    MAX_COMPARED,
    KnownLeaf,
    KnownThere,
    Place,
    read_known,
)
from workspaces.services.leaf_rows import LeafPlan
from workspaces.services.owner_reads import Owners, find_owner_by_name
from workspaces.services.owners import Owner
from workspaces.services.placement import Placement, place


@dataclass(frozen=True, slots=True)
class Waiting:
    """An admitted chunk under the lease of its event's job."""

    job: ClaimedJob
    event: Event
    chunk: Chunk
    judged: Judged


@dataclass(frozen=True, slots=True)
class Planned:
    waiting: Waiting
    plan: LeafPlan


@dataclass(frozen=True, slots=True)
class Placed:
    """An admitted chunk with the owner that it goes to, which exists."""

    waiting: Waiting
    placement: Placement
    owner: Owner
    judged_by: str


@dataclass(slots=True)
class _Pending:
    """What the chunks before in this window are about to leave."""

    planned: list[Planned] = field(default_factory=list)
    retired: set[UUID] = field(default_factory=set)
    restated: set[UUID] = field(default_factory=set)

    def add(self, planned: Planned) -> None:
        self.planned.append(planned)
        resolution = planned.plan.resolution
        if resolution.leaf_id is not None:
            is_known = resolution.kind == "duplicate"
            (self.restated if is_known else self.retired).add(resolution.leaf_id)


def plan_window(workspace: Workspace, *, placed: Sequence[Placed], judge: Judge) -> list[Planned]:
    """Plans of the first of them, in order; empty when the first has to be planned alone.

    Inside one reading step. A plan is a new leaf, one that supersedes, or a duplicate.
    """
    pending = _Pending()
    known = _known(workspace, placed=placed)
    for one, there in zip(placed, known, strict=True):
        resolution = _resolve(workspace, placed=one, there=there, pending=pending, judge=judge)
        if resolution is None:
            break
        pending.add(Planned(one.waiting, _plan(one, resolution=resolution)))
    return _before_history(workspace, planned=pending.planned)


def _before_history(workspace: Workspace, *, planned: Sequence[Planned]) -> list[Planned]:
    """Up to the first that is older than the leaf that it would supersede."""
    old = {
        one.plan.chunk.id: leaf_id
        for one in planned
        if one.plan.resolution.kind == "supersede" and (leaf_id := one.plan.resolution.leaf_id)
    }
    stated = last_stated(workspace, leaf_ids=list(old.values()))

    def is_in_time(one: Planned) -> bool:
        leaf_id = old.get(one.plan.chunk.id)
        observed = one.waiting.judged.context.occurred_at
        if leaf_id is None:
            return True
        return by_time(leaf_id, stated=stated[leaf_id], observed=observed).kind == "supersede"

    return list(takewhile(is_in_time, planned))


def _plan(placed: Placed, *, resolution: Resolution) -> LeafPlan:
    waiting = placed.waiting
    vector = waiting.judged.vector
    return LeafPlan(
        event=waiting.event,
        chunk=waiting.chunk,
        owner=placed.owner,
        placement=placed.placement,
        resolution=resolution,
        language=waiting.judged.context.language,
        vector=vector,
        model=current_model() if vector is not None else None,
        judged_by=placed.judged_by,
        is_embedded=waiting.judged.is_embedded,
    )


def place_window(workspace: Workspace, *, waiting: Sequence[Waiting], judge: Judge) -> list[Placed]:
    """Up to the first that needs an owner which does not exist yet.

    All of one scope, of the interaction category, with a judge that takes no call. Not empty.
    """
    scope_id = waiting[0].event.scope_id
    said = [Said(one.chunk.text, one.event.actor) for one in waiting]
    shortlists, owners = called_in(workspace, scope_id=scope_id, said=said)
    placed = list[Placed]()
    for one, candidates in zip(waiting, shortlists, strict=True):
        here = _place(workspace, waiting=one, candidates=candidates, owners=owners, judge=judge)
        if here is None:
            break
        placed.append(here)
    return placed


def _place(
    workspace: Workspace,
    *,
    waiting: Waiting,
    candidates: Sequence[EntityCandidate],
    owners: Owners,
    judge: Judge,
) -> Placed | None:
    event, chunk, judged = waiting.event, waiting.chunk, waiting.judged
    placement = place(
        judge.assign(judged.context, candidates=candidates),
        text=chunk.text,
        candidates=candidates,
        settings=workspace.preferences,
        actor=event.actor,
    )
    owner = _owner(workspace, event=event, placement=placement, owners=owners)
    faults.point("chunk.judged")
    by = "; ".join(filter(None, (judged.admission.judged_by, judge.name[:100])))
    return None if owner is None else Placed(waiting, placement, owner, by[:100])


def _owner(
    workspace: Workspace, *, event: Event, placement: Placement, owners: Owners
) -> Owner | None:
    """None where an entity or a tree would have to be made."""
    known = owners
    if placement.entity_id is not None:
        entity = owners.present(UUID(placement.entity_id))
    elif placement.new_entity is not None:
        name = normalise_name(placement.new_entity.name)
        known = find_owner_by_name(workspace, scope_id=event.scope_id, name=name)
        entity = next(iter(known.entities.values()), None)
    else:
        entity = owners.fallback
    tree = None if entity is None else known.tree_of(entity)
    if entity is None or tree is None or entity.is_nameless or entity.merged_into_id is not None:
        return None
    return Owner(entity=entity, tree=tree, entity_is_new=False, tree_is_new=False)


def _known(workspace: Workspace, *, placed: Sequence[Placed]) -> list[KnownThere]:
    if not placed:
        return []
    places = [
        Place(
            tree_id=one.owner.tree.id,
            fingerprint=one.waiting.chunk.fingerprint,
            subject_key=one.placement.subject_key,
            vector=one.waiting.judged.vector,
        )
        for one in placed
    ]
    return read_known(workspace, scope_id=placed[0].waiting.event.scope_id, places=places)


def _resolve(
    workspace: Workspace,
    *,
    placed: Placed,
    there: KnownThere,
    pending: _Pending,
    judge: Judge,
) -> Resolution | None:
    """None where a commit of this window, or the chunk's place in history, has to be seen first."""
    chunk, context = placed.waiting.chunk, placed.waiting.judged.context
    beside = [p for p in pending.planned if p.plan.owner.tree.id == placed.owner.tree.id]
    beside = [p for p in beside if p.plan.resolution.kind != "duplicate"]
    read = {leaf.id for leaf in (*there.keyed, *there.near)} | set(there.rivals)
    same = there.with_this_text(at=context.occurred_at)
    if any(p.plan.chunk.fingerprint == chunk.fingerprint for p in beside):
        return None
    if not pending.retired.isdisjoint(read | {same} if same else read):
        return None
    if same is not None:
        return Resolution("duplicate", same)
    views = _views(placed, there=there, beside=beside)
    key = placed.placement.subject_key
    known, relation = judged_relation(context, subject_key=key, views=views, judge=judge)
    if known is None:
        return Resolution("new", rivals=there.rivals)
    if known not in read:
        return None  # it is of this window
    if relation == "same_memory":
        return Resolution("duplicate", known)
    if known in pending.restated:
        return None  # it was last stated by a chunk of this window
    return Resolution("supersede", known, rivals=there.rivals)


def _views(placed: Placed, *, there: KnownThere, beside: Sequence[Planned]) -> list[LeafView]:
    """What is known there, and what the chunks before are about to leave beside it."""
    waiting = placed.waiting
    key = placed.placement.subject_key
    keyed = [*(_as_known(p) for p in beside if p.plan.placement.subject_key == key), *there.keyed]
    keyed.sort(key=lambda leaf: (leaf.observed_at, leaf.id), reverse=True)
    near = list(there.near)
    if waiting.judged.vector:
        near += [_as_known(p, to=waiting.judged.vector) for p in beside if p.plan.vector]
        near.sort(key=lambda leaf: (leaf.distance or 0.0, leaf.id))
    texts = {p.plan.chunk.id: p.plan.chunk.text for p in beside}
    return leaf_views(closest(keyed=keyed, near=near[:MAX_COMPARED]), texts=texts)


def _as_known(planned: Planned, *, to: Sequence[float] | None = None) -> KnownLeaf:
    """A leaf that is not written yet, by the id of its chunk, which is younger than any leaf's."""
    plan = planned.plan
    return KnownLeaf(
        id=plan.chunk.id,
        body_path="",
        body_sha256="",
        title=plan.placement.title,
        subject_key=plan.placement.subject_key,
        observed_at=planned.waiting.judged.context.occurred_at,
        distance=None if to is None else _distance(to, plan.vector or ()),
    )


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    """Of vectors of unit length, as the database gives it."""
    return 1.0 - sum(a * b for a, b in zip(one, other, strict=True))
