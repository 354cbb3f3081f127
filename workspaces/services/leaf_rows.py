"""The rows of a new leaf as statements, to go to the server in one message."""

from collections.abc import Sequence
from dataclasses import dataclass

from holamem.clock import now
from holamem.database.rows import insert_statement
from holamem.database.statements import Statement
from workspaces.index.entries import leaf_lexemes_statement, vector_statement
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


def leaf_statements(
    workspace: Workspace, *, plan: LeafPlan, leaf: SourceLeaf, entities: Sequence[Entity]
) -> list[Statement]:
    """Links, search entries, counters and the chunk's result, for a leaf whose row is there.

    `entities`: the owner, then those that are mentioned.
    """
    superseding = plan.resolution.kind == "supersede"
    outcome = Chunk.Outcome.SUPERSEDING if superseding else Chunk.Outcome.CREATED
    return [
        _source_statement(workspace, plan=plan, leaf=leaf, is_creator=True),
        *_mention_statements(workspace, leaf=leaf, plan=plan, entities=entities),
        *_search_statements(workspace, leaf=leaf, plan=plan, entities=entities),
        _count_statement(workspace, plan=plan),
        _outcome_statement(workspace, plan=plan, outcome=outcome, leaf=leaf),
    ]


def duplicate_statements(
    workspace: Workspace, *, plan: LeafPlan, leaf: SourceLeaf
) -> list[Statement]:
    """The event as a further source of a leaf that holds its text, and the chunk's result."""
    outcome = Chunk.Outcome.NOOP_DUPLICATE
    return [
        _source_statement(workspace, plan=plan, leaf=leaf, is_creator=False),
        _outcome_statement(workspace, plan=plan, outcome=outcome, leaf=leaf),
    ]


def _mention_statements(
    workspace: Workspace, *, leaf: SourceLeaf, plan: LeafPlan, entities: Sequence[Entity]
) -> list[Statement]:
    secondary = entities if plan.owner.entity is None else entities[1:]
    links = [
        LeafEntity(workspace=workspace, scope_id=leaf.scope_id, leaf=leaf, entity=entity)
        for entity in secondary
    ]
    return [insert_statement(links)] if links else []


def _search_statements(
    workspace: Workspace, *, leaf: SourceLeaf, plan: LeafPlan, entities: Sequence[Entity]
) -> list[Statement]:
    """None for a leaf that ended at its source."""
    if leaf.status == SourceLeaf.Status.INACTIVE:
        return []
    # The fallback bucket's name says nothing about a leaf.
    names = names_for_search(entity for entity in entities if not entity.is_system)
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


def follow_ups(leaf: SourceLeaf) -> list[NewJob]:
    return [
        NewJob(Job.Topic.NODE_CREATED, leaf.id, leaf.scope_id),
        NewJob(Job.Topic.TREE_DIRTY, leaf.tree_id, leaf.scope_id, priority=150),
    ]


def _source_statement(
    workspace: Workspace, *, plan: LeafPlan, leaf: SourceLeaf, is_creator: bool
) -> Statement:
    link = LeafSource(
        workspace=workspace,
        scope_id=leaf.scope_id,
        leaf=leaf,
        event=plan.event,
        is_creator=is_creator,
    )
    return insert_statement([link], unless_present=True)


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
