"""The rows of a new leaf as statements, to go to the server in one message."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from holamem.clock import now
from holamem.database.rows import insert_statement
from holamem.database.statements import Statement
from workspaces.index.entries import (
    leaf_lexemes_statement,
    leaf_lexemes_statements,
    vector_statement,
)
from workspaces.models.entities import Entity
from workspaces.models.index import EmbeddingModel
from workspaces.models.jobs import Job
from workspaces.models.log import Category, Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LeafEntity, LeafSource, SourceLeaf
from workspaces.services.duplicates import Resolution
from workspaces.services.entities.resolving import names_for_search
from workspaces.services.job_rows import NewJob
from workspaces.services.owners import Owner
from workspaces.services.placement import Placement
from workspaces.services.topology import mirror_due


@dataclass(frozen=True, slots=True)
class LeafPlan:
    """Everything that was decided about one chunk, ready to be committed.

    `is_embedded`: the embedder was asked; without a `vector` it has none for this text.
    """

    event: Event
    chunk: Chunk
    owner: Owner
    placement: Placement
    resolution: Resolution
    language: str
    vector: Sequence[float] | None
    model: EmbeddingModel | None
    judged_by: str
    is_embedded: bool = False


def leaf_statements(
    workspace: Workspace, *, plan: LeafPlan, leaf: SourceLeaf, entities: Sequence[Entity]
) -> list[Statement]:
    """Links, search entries, counters and the chunk's result, for a leaf whose row is there.

    `entities`: the owner, then those that are mentioned.
    """
    links = _mentions(workspace, one=NewLeaf(plan, leaf, entities))
    return [
        _source_statement(workspace, plan=plan, leaf=leaf, is_creator=True),
        *([insert_statement(links)] if links else []),
        *_search_statements(workspace, leaf=leaf, plan=plan, entities=entities),
        _count_statement(workspace, plan=plan),
        _outcome_statement(workspace, plan=plan, outcome=_outcome_of(plan), leaf=leaf),
    ]


@dataclass(frozen=True, slots=True)
class NewLeaf:
    """A leaf whose body is written, with its entities: the owner, then those it mentions."""

    plan: LeafPlan
    leaf: SourceLeaf
    entities: Sequence[Entity]


def window_statements(workspace: Workspace, *, new: Sequence[NewLeaf]) -> list[Statement]:
    """Rows, links, entries, counters and results of several active leaves: one statement each."""
    links = [link for one in new for link in _mentions(workspace, one=one)]
    texts = [(one.leaf, one.plan.chunk.text, _search_names(one.entities)) for one in new]
    sources = [_source(workspace, plan=one.plan, leaf=one.leaf, is_creator=True) for one in new]
    return [
        insert_statement([one.leaf for one in new]),
        insert_statement(sources, unless_present=True),
        *([insert_statement(links)] if links else []),
        leaf_lexemes_statements(workspace, leaves=texts),
        *_vector_statements(workspace, new=new),
        _counts_statement(workspace, new=new),
        _outcomes_statement(workspace, new=new),
    ]


def _vector_statements(workspace: Workspace, *, new: Sequence[NewLeaf]) -> list[Statement]:
    return [
        vector_statement(workspace, node=one.leaf, model=one.plan.model, vector=one.plan.vector)
        for one in new
        if one.plan.vector is not None and one.plan.model is not None
    ]


def _counts_statement(workspace: Workspace, *, new: Sequence[NewLeaf]) -> Statement:
    """As for one leaf: see `_count_statement`."""
    added: Counter[UUID] = Counter()
    changed: set[UUID] = set()
    for one in new:
        is_new = one.plan.resolution.kind == "new"
        added[one.leaf.tree_id] += is_new
        changed |= set() if is_new else {one.leaf.tree_id}
    return Statement(
        "UPDATE workspaces_tree AS tree SET leaf_count = tree.leaf_count + more.added,"
        " status = 'active', updated_at = %s, mirrored_state ="
        " CASE WHEN more.is_changed THEN %s ELSE tree.mirrored_state END"
        " FROM unnest(%s::uuid[], %s::int[], %s::bool[]) AS more (id, added, is_changed)"
        " WHERE tree.workspace_id = %s AND tree.id = more.id",
        [
            now(),
            mirror_due(),
            list(added),
            list(added.values()),
            [tree_id in changed for tree_id in added],
            workspace.pk,
        ],
    )


def _outcomes_statement(workspace: Workspace, *, new: Sequence[NewLeaf]) -> Statement:
    """The leaves' bodies have the texts now, so the chunks' copies go."""
    plans = [one.plan for one in new]
    return Statement(
        "UPDATE workspaces_chunk AS chunk SET outcome = told.outcome, decision = told.decision,"
        " reason = told.reason, admission_confidence = told.admission,"
        " match_confidence = told.match, create_confidence = told.creation,"
        " judged_by = told.judge, leaf_id = told.leaf, text = ''"
        " FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::float[], %s::float[],"
        " %s::float[], %s::text[], %s::uuid[])"
        " AS told (id, outcome, decision, reason, admission, match, creation, judge, leaf)"
        " WHERE chunk.workspace_id = %s AND chunk.id = told.id",
        [
            [plan.chunk.id for plan in plans],
            [str(_outcome_of(plan)) for plan in plans],
            [str(plan.placement.decision) for plan in plans],
            [plan.chunk.reason for plan in plans],
            [plan.chunk.admission_confidence for plan in plans],
            [plan.placement.match_confidence for plan in plans],
            [plan.placement.create_confidence for plan in plans],
            [plan.judged_by for plan in plans],
            [one.leaf.id for one in new],
            workspace.pk,
        ],
    )


def _outcome_of(plan: LeafPlan) -> str:
    superseding = plan.resolution.kind == "supersede"
    return Chunk.Outcome.SUPERSEDING if superseding else Chunk.Outcome.CREATED


def duplicate_statements(
    workspace: Workspace, *, plan: LeafPlan, leaf: SourceLeaf
) -> list[Statement]:
    """The event as a further source of a leaf that holds its text, and the chunk's result."""
    outcome = Chunk.Outcome.NOOP_DUPLICATE
    return [
        _source_statement(workspace, plan=plan, leaf=leaf, is_creator=False),
        _outcome_statement(workspace, plan=plan, outcome=outcome, leaf=leaf),
    ]


def _mentions(workspace: Workspace, *, one: NewLeaf) -> list[LeafEntity]:
    secondary = one.entities if one.plan.owner.entity is None else one.entities[1:]
    leaf = one.leaf
    return [
        LeafEntity(workspace=workspace, scope_id=leaf.scope_id, leaf=leaf, entity=entity)
        for entity in secondary
    ]


def _search_names(entities: Sequence[Entity]) -> list[str]:
    """The fallback bucket's name says nothing about a leaf."""
    return names_for_search(entity for entity in entities if not entity.is_system)


def _search_statements(
    workspace: Workspace, *, leaf: SourceLeaf, plan: LeafPlan, entities: Sequence[Entity]
) -> list[Statement]:
    """None for a leaf that ended at its source."""
    if leaf.status == SourceLeaf.Status.INACTIVE:
        return []
    names = _search_names(entities)
    lexemes = leaf_lexemes_statement(workspace, leaf=leaf, text=plan.chunk.text, entity_names=names)
    if plan.vector is None or plan.model is None:
        return [lexemes]
    return [
        lexemes,
        vector_statement(workspace, node=leaf, model=plan.model, vector=plan.vector),
    ]


def _count_statement(workspace: Workspace, *, plan: LeafPlan) -> Statement:
    """By difference, not by counting: a write costs the same whatever the tree holds.

    A leaf that only joins the others changes nothing that the tree's sidecar mirrors.
    """
    is_new = plan.resolution.kind == "new"
    return Statement(
        "UPDATE workspaces_tree SET leaf_count = leaf_count + %s, status = 'active',"
        " updated_at = %s, mirrored_state = CASE WHEN %s THEN mirrored_state ELSE %s END"
        " WHERE workspace_id = %s AND id = %s",
        [1 if is_new else 0, now(), is_new, mirror_due(), workspace.pk, plan.owner.tree.id],
    )


def follow_ups(leaf: SourceLeaf, *, plan: LeafPlan) -> list[NewJob]:
    """A leaf that has its vector is in the index; one that the embedder was out for waits."""
    topic = Job.Topic.NODE_INDEXED if plan.is_embedded else Job.Topic.NODE_CREATED
    return [
        NewJob(topic, leaf.id, leaf.scope_id),
        NewJob(Job.Topic.TREE_DIRTY, leaf.tree_id, leaf.scope_id, priority=150),
    ]


def _source_statement(
    workspace: Workspace, *, plan: LeafPlan, leaf: SourceLeaf, is_creator: bool
) -> Statement:
    link = _source(workspace, plan=plan, leaf=leaf, is_creator=is_creator)
    return insert_statement([link], unless_present=True)


def _source(
    workspace: Workspace, *, plan: LeafPlan, leaf: SourceLeaf, is_creator: bool
) -> LeafSource:
    return LeafSource(
        workspace=workspace,
        scope_id=leaf.scope_id,
        leaf=leaf,
        event=plan.event,
        is_creator=is_creator,
    )


def _outcome_statement(
    workspace: Workspace, *, plan: LeafPlan, outcome: str, leaf: SourceLeaf
) -> Statement:
    """The leaf's body has the text now, so the chunk's copy goes."""
    is_judged = plan.event.category == Category.INTERACTION
    return Statement(
        "UPDATE workspaces_chunk SET outcome = %s, decision = %s, reason = %s,"
        " admission_confidence = %s, match_confidence = %s, create_confidence = %s,"
        " judged_by = %s, leaf_id = %s, text = '' WHERE workspace_id = %s AND id = %s",
        [
            str(outcome),
            str(plan.placement.decision) if is_judged else "",
            plan.chunk.reason,
            plan.chunk.admission_confidence,
            plan.placement.match_confidence,
            plan.placement.create_confidence,
            plan.judged_by,
            leaf.id,
            workspace.pk,
            plan.chunk.id,
        ],
    )
