"""The rows of a new leaf as statements, to go to the server in one message."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from holamem.clock import now
from holamem.database.rows import insert_statement
from holamem.database.statements import Statement
from workspaces.index.entries import (
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


@dataclass(frozen=True, slots=True)
class NewLeaf:
    """A leaf whose body is written, with its entities: the owner, then those it mentions."""

    plan: LeafPlan
    leaf: SourceLeaf
    entities: Sequence[Entity]


def leaf_statements(workspace: Workspace, *, new: Sequence[NewLeaf]) -> list[Statement]:
    """Rows, links, search entries, counters and results of new leaves: one statement each."""
    links = [link for one in new for link in _mentions(workspace, one=one)]
    sources = [_source(workspace, plan=one.plan, leaf=one.leaf, is_creator=True) for one in new]
    results = [(one.plan, _outcome_of(one.plan), one.leaf) for one in new]
    return [
        insert_statement([one.leaf for one in new]),
        insert_statement(sources, unless_present=True),
        *([insert_statement(links)] if links else []),
        *_search_statements(workspace, new=new),
        _counts_statement(workspace, new=new),
        _results_statement(workspace, results=results),
    ]


def _search_statements(workspace: Workspace, *, new: Sequence[NewLeaf]) -> list[Statement]:
    """None for a leaf that ended at its source."""
    found = [one for one in new if one.leaf.status != SourceLeaf.Status.INACTIVE]
    texts = [(one.leaf, one.plan.chunk.text, _search_names(one.entities)) for one in found]
    lexemes = [leaf_lexemes_statements(workspace, leaves=texts)] if texts else []
    return lexemes + [
        vector_statement(workspace, node=one.leaf, model=one.plan.model, vector=one.plan.vector)
        for one in found
        if one.plan.vector is not None and one.plan.model is not None
    ]


def _counts_statement(workspace: Workspace, *, new: Sequence[NewLeaf]) -> Statement:
    """By difference, not by counting: a write costs the same whatever the tree holds.

    A leaf that only joins the others changes nothing that the tree's sidecar mirrors.
    """
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


_Result = tuple[LeafPlan, str, SourceLeaf]


def _results_statement(workspace: Workspace, *, results: Sequence[_Result]) -> Statement:
    """The leaves' bodies have the texts now, so the chunks' copies go."""
    plans = [plan for plan, _, _ in results]
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
            [str(outcome) for _, outcome, _ in results],
            [_decision_of(plan) for plan in plans],
            [plan.chunk.reason for plan in plans],
            [plan.chunk.admission_confidence for plan in plans],
            [plan.placement.match_confidence for plan in plans],
            [plan.placement.create_confidence for plan in plans],
            [plan.judged_by for plan in plans],
            [leaf.id for _, _, leaf in results],
            workspace.pk,
        ],
    )


def _decision_of(plan: LeafPlan) -> str:
    """In integration the source decides, and nobody is asked."""
    return str(plan.placement.decision) if plan.event.category == Category.INTERACTION else ""


def _outcome_of(plan: LeafPlan) -> str:
    superseding = plan.resolution.kind == "supersede"
    return Chunk.Outcome.SUPERSEDING if superseding else Chunk.Outcome.CREATED


def duplicate_statements(
    workspace: Workspace, *, plan: LeafPlan, leaf: SourceLeaf
) -> list[Statement]:
    """The event as a further source of a leaf that holds its text, and the chunk's result."""
    link = _source(workspace, plan=plan, leaf=leaf, is_creator=False)
    result = (plan, Chunk.Outcome.NOOP_DUPLICATE, leaf)
    return [
        insert_statement([link], unless_present=True),
        _results_statement(workspace, results=[result]),
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


def follow_ups(leaf: SourceLeaf, *, plan: LeafPlan) -> list[NewJob]:
    """A leaf that has its vector is in the index; one that the embedder was out for waits."""
    topic = Job.Topic.NODE_INDEXED if plan.is_embedded else Job.Topic.NODE_CREATED
    return [
        NewJob(topic, leaf.id, leaf.scope_id),
        NewJob(Job.Topic.TREE_DIRTY, leaf.tree_id, leaf.scope_id, priority=150),
    ]


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
