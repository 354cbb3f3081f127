"""Handler of `entity.changed`: what waits without a subject is judged again when one appears.

A leaf of the fallback bucket that names the entity is given to the judge as when it was written,
and moves where the decision table says that it matches. One that a person put there stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, MalformedReply, NotFound
from holamem.text.segment import query_terms
from holamem.text.tsvector import to_tsquery_literal
from workspaces.bodies import BodyCorrupt, BodyMissing, read_markdown
from workspaces.index.entries import scope_lexeme
from workspaces.judging.base import ChunkContext
from workspaces.models.entities import Entity
from workspaces.models.log import Category, Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.chunk_steps import shortlist_of
from workspaces.services.corrections.changes import Author
from workspaces.services.corrections.move import owner_of, transfer
from workspaces.services.jobs import ClaimedJob, add_job
from workspaces.services.model_calls import judge_of
from workspaces.services.owner_reads import FALLBACK_SLUG
from workspaces.services.placement import Placement, place
from workspaces.services.principals import Principal

BATCH = 16  # model calls of one job; then others have their turn
MOST_LEAVES = 160  # that one change of an entity has judged again, the newest first
MOST_NAMES = 20
SYSTEM_LABEL = "system:rejudge"

# Raw SQL: tsquery over the derived index, which holds the scope beside the terms.
_WAITING = """
SELECT leaf.id FROM workspaces_lexemeentry AS entry
  JOIN workspaces_sourceleaf AS leaf
    ON leaf.workspace_id = %(workspace)s AND leaf.id = entry.node_id
 WHERE entry.workspace_id = %(workspace)s AND entry.scope_id = %(scope)s AND entry.kind = 'leaf'
   AND entry.status = 'active' AND entry.lexemes @@ %(query)s::tsquery
   AND leaf.tree_id = %(tree)s AND leaf.status = 'active' AND leaf.moved_from_leaf_id IS NULL
   AND leaf.id < %(before)s
 ORDER BY leaf.id DESC LIMIT %(limit)s
"""
NEWEST = UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True)
class _Turn:
    """Where the walk stands: leaves with a lesser id are still to be judged."""

    before: UUID
    judged: int


def rejudge_fallback(workspace: Workspace, job: ClaimedJob) -> None:
    """Quiet when the entity or the bucket is gone. A second run finds only what stayed."""
    turn = _turn_of(job)
    with workspace_scope(workspace, [job.scope_id]):
        entity = workspace.entities.filter(id=job.target_id, is_system=False).first()
        waiting = [] if entity is None else _waiting(workspace, entity=entity, turn=turn)
    for leaf in waiting:
        _judge_again(workspace, leaf=leaf, job=job)
    judged = turn.judged + len(waiting)
    if len(waiting) == BATCH and judged < MOST_LEAVES:
        _go_on_later(workspace, job=job, turn=_Turn(waiting[-1].id, judged))


def _turn_of(job: ClaimedJob) -> _Turn:
    before, judged = job.payload.get("before"), job.payload.get("judged")
    if not isinstance(before, str) or not isinstance(judged, int):
        return _Turn(NEWEST, 0)
    return _Turn(UUID(before), judged)


def _go_on_later(workspace: Workspace, *, job: ClaimedJob, turn: _Turn) -> None:
    """A change that came meanwhile is queued already, and begins from the start."""
    with workspace_scope(workspace, [job.scope_id]):
        add_job(
            workspace,
            topic=job.topic,
            target_id=job.target_id,
            scope_id=job.scope_id,
            payload={"before": str(turn.before), "judged": turn.judged},
            priority=200,
        )


def _waiting(workspace: Workspace, *, entity: Entity, turn: _Turn) -> list[SourceLeaf]:
    """Leaves of the scope's bucket that hold all words of one of the names, the newest first."""
    bucket = workspace.trees.filter(
        scope_id=entity.scope_id,
        category=Category.INTERACTION,
        entity__slug=FALLBACK_SLUG,
        entity__is_system=True,
    ).first()
    query = _query(workspace, entity=entity)
    if bucket is None or not query:
        return []
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scope": entity.scope_id,
        "tree": bucket.id,
        "query": query,
        "before": turn.before,
        "limit": BATCH,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, values)
        ids = [row[0] for row in cursor.fetchall()]
    return list(
        workspace.leaves.select_related("tree", "entity", "chunk__event")
        .filter(id__in=ids)
        .order_by("-id")
    )


def _query(workspace: Workspace, *, entity: Entity) -> str:
    """Any of the names, each with all of its words."""
    scope = scope_lexeme(workspace.pk, entity.scope_id)
    found = (query_terms(name) for name in [entity.name, *entity.aliases][:MOST_NAMES])
    literals = [
        to_tsquery_literal(terms[:1], all_of=[scope, *terms[1:]]) for terms in found if terms
    ]
    return " | ".join(f"({literal})" for literal in literals if literal)


def _judge_again(workspace: Workspace, *, leaf: SourceLeaf, job: ClaimedJob) -> None:
    """One model call with no transaction open; a leaf that changed meanwhile is left alone."""
    try:
        text = read_markdown(leaf.body_path, sha256=leaf.body_sha256)
    except (BodyMissing, BodyCorrupt):
        return  # `verify` names it
    placement = _placement(workspace, leaf=leaf, text=text)
    if placement is None or placement.decision != Chunk.Decision.MATCH_EXISTING:
        return
    try:
        transfer(
            workspace,
            leaf=leaf,
            plan=lambda: owner_of(workspace, scope_id=leaf.scope_id, entity_id=placement.entity_id),
            author=_author(workspace),
            job=job,
        )
    except (Conflict, NotFound):
        return


def _placement(workspace: Workspace, *, leaf: SourceLeaf, text: str) -> Placement | None:
    """What the decision table says today; None when the judge's answer cannot be used."""
    lookup = Event(workspace=workspace, scope_id=leaf.scope_id, actor=leaf.actor)
    judge = judge_of(workspace, scope_id=leaf.scope_id)
    candidates = shortlist_of(
        workspace, event=lookup, text=text, vector=_vector(workspace, leaf=leaf), judge=judge
    )
    try:
        assignment = judge.assign(_context(workspace, leaf=leaf, text=text), candidates=candidates)
    except MalformedReply:
        return None
    return place(
        assignment,
        text=text,
        candidates=candidates,
        settings=workspace.preferences,
        actor=leaf.actor,
    )


def _vector(workspace: Workspace, *, leaf: SourceLeaf) -> Sequence[float] | None:
    """The stored one of the current model: nothing is embedded again."""
    with workspace_scope(workspace, [leaf.scope_id]):
        entry = workspace.vector_entries.filter(node_id=leaf.id, model__is_current=True).first()
    return None if entry is None else list(entry.embedding)


def _context(workspace: Workspace, *, leaf: SourceLeaf, text: str) -> ChunkContext:
    """The leaf alone: it was admitted long ago, and its session may be gone."""
    return ChunkContext(
        text=text,
        kind=leaf.origin_kind,
        actor=leaf.actor,
        language=leaf.language,
        occurred_at=leaf.observed_at,
        session_ref="",
        succeeded=None,
        has_execution_evidence=True,
        earlier_user_texts=(),
        previous_turn=None,
        workspace_name=workspace.name,
    )


def _author(workspace: Workspace) -> Author:
    """The move is in the audit log, so that a person can take it back."""
    principal = Principal(
        label=SYSTEM_LABEL,
        tenant_id=workspace.tenant_id,
        workspace_id=workspace.pk,
        end_user_id=None,
        end_user_ref=None,
        permissions=frozenset(),
        key_id=None,
        is_person=False,
    )
    return Author(principal, "leaf.moved")
