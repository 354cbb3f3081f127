"""Several chunks planned together, as if they came one by one.

Memory is read once for all of them, and each chunk is judged in its turn by what was read and by
what the chunks before it are about to leave. A window ends before a chunk for which that is not
enough: one that makes an entity or a tree, is history, or bears on a leaf that is not committed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from holamem import faults
from holamem.text.normalise import normalise_name
from workspaces.index.embedding import current_model
from workspaces.index.entries import leaf_search_text, searched_terms
from workspaces.judging.base import EntityCandidate, Judge, LeafView
from workspaces.models.entities import Entity
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.ahead import Judged
from workspaces.services.duplicates import (
    MAX_COMPARED,
    NEAREST_COMPARED,
    KnownLeaf,
    Resolution,
    by_time,
    judged_relation,
    leaf_views,
)
from workspaces.services.entities.resolving import names_for_search
from workspaces.services.jobs import ClaimedJob
from workspaces.services.leaf_rows import LeafPlan
from workspaces.services.owners import Owner
from workspaces.services.placement import Placement, place
from workspaces.services.shortlist import LEXICAL_SIMILARITY, MAX_SHORTLIST
from workspaces.services.window_reads import (
    KnownThere,
    Owners,
    Place,
    Sought,
    candidate,
    candidates_of,
    find_candidates,
    find_owner_by_name,
    read_known,
    read_owners,
    sought,
)


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
class _Placed:
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


def plan_window(workspace: Workspace, *, waiting: Sequence[Waiting], judge: Judge) -> list[Planned]:
    """Plans of the first of them, in order; empty when the first has to be planned alone.

    All of one scope, of the interaction category, with a judge that takes no call. Inside one
    reading step. A plan is a new leaf, one that supersedes, or a duplicate.
    """
    pending = _Pending()
    placed = _place_all(workspace, waiting=waiting, judge=judge)
    known = _known(workspace, placed=placed)
    for one, there in zip(placed, known, strict=True):
        resolution = _resolve(workspace, placed=one, there=there, pending=pending, judge=judge)
        if resolution is None:
            break
        pending.add(Planned(one.waiting, _plan(one, resolution=resolution)))
    return pending.planned


def _plan(placed: _Placed, *, resolution: Resolution) -> LeafPlan:
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


@dataclass(slots=True)
class _Told:
    """Owners of the window so far, with the terms by which their new leaves are found."""

    by_entity: dict[UUID, tuple[Entity, set[str]]] = field(default_factory=dict)

    def add(self, waiting: Waiting, *, entity: Entity) -> None:
        if entity.is_system:
            return
        day = waiting.judged.context.occurred_at
        text = leaf_search_text(
            text=waiting.chunk.text,
            actor=waiting.event.actor,
            entity_names=names_for_search([entity]),
            day=day,
        )
        self.by_entity.setdefault(entity.id, (entity, set()))[1].update(
            term for term, _ in searched_terms(text)
        )

    def found_by(self, asked: Sought) -> list[EntityCandidate]:
        return [
            candidate(entity, similarity=LEXICAL_SIMILARITY)
            for entity, said in self.by_entity.values()
            if not asked.terms.isdisjoint(said)
        ]


def _place_all(workspace: Workspace, *, waiting: Sequence[Waiting], judge: Judge) -> list[_Placed]:
    """Up to the first that needs an owner which does not exist yet."""
    scope_id = waiting[0].event.scope_id
    asked = [
        sought(workspace, scope_id=scope_id, text=one.chunk.text, vector=one.judged.vector)
        for one in waiting
    ]
    found = find_candidates(workspace, scope_id=scope_id, asked=asked)
    ids = list({entity_id for rows in found for entity_id, _ in rows})
    owners = read_owners(workspace, scope_id=scope_id, ids=ids)
    told, placed = _Told(), list[_Placed]()
    for one, rows, question in zip(waiting, found, asked, strict=True):
        near = candidates_of(rows, owners=owners)
        for other in told.found_by(question):
            near.setdefault(UUID(other.entity_id), other)
        here = _place(
            workspace, waiting=one, candidates=_shortened(near), owners=owners, judge=judge
        )
        if here is None or here.owner.entity is None:
            break
        told.add(one, entity=here.owner.entity)
        placed.append(here)
    return placed


def _shortened(near: dict[UUID, EntityCandidate]) -> list[EntityCandidate]:
    """Best first, as the database would order them."""
    ordered = sorted(near.values(), key=lambda one: (-one.similarity, UUID(one.entity_id)))
    return ordered[:MAX_SHORTLIST]


def _place(
    workspace: Workspace,
    *,
    waiting: Waiting,
    candidates: Sequence[EntityCandidate],
    owners: Owners,
    judge: Judge,
) -> _Placed | None:
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
    return None if owner is None else _Placed(waiting, placement, owner, by[:100])


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
    tree = known.trees.get(f"interaction:{entity.slug}") if entity is not None else None
    if entity is None or tree is None or entity.is_nameless or entity.merged_into_id is not None:
        return None
    return Owner(entity=entity, tree=tree, entity_is_new=False, tree_is_new=False)


def _known(workspace: Workspace, *, placed: Sequence[_Placed]) -> list[KnownThere]:
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
    placed: _Placed,
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
    decided = by_time(workspace, tree=placed.owner.tree, leaf_id=known, chunk=context)
    return replace(decided, rivals=there.rivals) if decided.kind == "supersede" else None


def _views(placed: _Placed, *, there: KnownThere, beside: Sequence[Planned]) -> list[LeafView]:
    """At most six: the same subject key first, the latest of them, then the nearest by vector."""
    waiting = placed.waiting
    key = placed.placement.subject_key
    keyed = [*(_as_known(p) for p in beside if p.plan.placement.subject_key == key), *there.keyed]
    keyed.sort(key=lambda leaf: (leaf.observed_at, leaf.id), reverse=True)
    near = list(there.near)
    if waiting.judged.vector:
        near += [_as_known(p, to=waiting.judged.vector) for p in beside if p.plan.vector]
        near.sort(key=lambda leaf: (leaf.distance or 0.0, leaf.id))
    near = near[:MAX_COMPARED]
    first = keyed[: MAX_COMPARED - min(len(near), NEAREST_COMPARED)]
    others = [leaf for leaf in near if leaf.id not in {known.id for known in first}]
    texts = {p.plan.chunk.id: p.plan.chunk.text for p in beside}
    return leaf_views([*first, *others][:MAX_COMPARED], texts=texts)


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
