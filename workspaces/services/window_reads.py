"""What is read for several chunks of one scope, in one look each: candidates, owners, known leaves.

The answers are those that each chunk alone would get from the same state of memory.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from pgvector import HalfVector

from holamem.database.prepared import fetch_rows
from holamem.database.rows import read_rows
from holamem.text.segment import query_terms, to_tsquery_literal
from workspaces.index.embedding import current_model
from workspaces.index.entries import scope_lexeme
from workspaces.judging.base import EntityCandidate
from workspaces.models.entities import Entity
from workspaces.models.log import Category
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree
from workspaces.services.duplicates import MAX_COMPARED, MAX_RIVALS, KnownLeaf
from workspaces.services.owners import FALLBACK_SLUG
from workspaces.services.shortlist import (
    EXACT_SIMILARITY,
    LEXICAL_SIMILARITY,
    MAX_SHORTLIST,
    NEAREST_LEAVES,
    name_runs,
)

_BY_VECTOR_RANK = 2


@dataclass(frozen=True, slots=True)
class Sought:
    """A chunk's text as the shortlist asks with it."""

    terms: frozenset[str]
    query: str
    runs: Sequence[str]
    vector: Sequence[float] | None


def sought(
    workspace: Workspace, *, scope_id: UUID, text: str, vector: Sequence[float] | None
) -> Sought:
    terms = query_terms(text)
    scope = scope_lexeme(workspace.pk, scope_id)
    query = to_tsquery_literal(terms, all_of=[scope]) if terms else ""
    return Sought(frozenset(terms), query, name_runs(text), vector)


@dataclass(frozen=True, slots=True)
class Owners:
    """Entities by id, with what they were merged into, and trees by key; no tree: none yet."""

    entities: dict[UUID, Entity]
    trees: dict[str, Tree]
    fallback: Entity | None

    def present(self, entity_id: UUID) -> Entity | None:
        """The entity, or what it is part of today."""
        named = self.entities.get(entity_id)
        if named is None or named.merged_into_id is None:
            return named
        return self.entities.get(named.merged_into_id)


# (entity, similarity, rank of the part that found it), by chunk.
_Found = dict[int, list[tuple[UUID, float, int]]]

# A hashed look-up of each stored name: compared with IN (SELECT …) the runs are hashed once, which
# an array that is not known when the statement is planned is not.
_BY_NAME = """
SELECT entity.id, known.held FROM workspaces_entity AS entity
 CROSS JOIN LATERAL unnest(entity.normalised_names) AS known (held)
 WHERE entity.workspace_id = %(workspace)s AND entity.scope_id = %(scope)s
   AND NOT entity.is_system
   AND (known.held IN (SELECT jsonb_array_elements_text(%(runs)s::jsonb))) IS TRUE
"""
# Each query is read once, not for every entry that it is compared with.
_BY_TERMS = f"""
WITH wanted AS MATERIALIZED (
  SELECT place, query::tsquery AS query
    FROM unnest(%(places)s::int[], %(queries)s::text[]) AS given (place, query))
SELECT DISTINCT wanted.place, leaf.entity_id, {LEXICAL_SIMILARITY}::float, 1
  FROM wanted
 CROSS JOIN LATERAL (
   SELECT node_id FROM workspaces_lexemeentry
    WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND kind = 'leaf'
      AND status = 'active' AND lexemes @@ wanted.query
    ORDER BY ts_rank(lexemes, wanted.query, 1) DESC, node_id LIMIT {NEAREST_LEAVES}) AS near
  JOIN workspaces_sourceleaf AS leaf
    ON leaf.workspace_id = %(workspace)s AND leaf.id = near.node_id
 WHERE leaf.entity_id IS NOT NULL
"""  # noqa: S608 - constants
_BY_VECTOR = f"""
WITH wanted AS MATERIALIZED (
  SELECT place, vector::halfvec AS vector
    FROM unnest(%(vector_places)s::int[], %(vectors)s::text[]) AS given (place, vector))
SELECT wanted.place, leaf.entity_id, least(max(near.similarity), 0.99), {_BY_VECTOR_RANK}
  FROM wanted
 CROSS JOIN LATERAL (
   SELECT node_id, 1 - (embedding <=> wanted.vector) AS similarity
     FROM workspaces_vectorentry
    WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND kind = 'leaf'
      AND status = 'active' AND model_id = %(model)s
    ORDER BY embedding <=> wanted.vector LIMIT {NEAREST_LEAVES}) AS near
  JOIN workspaces_sourceleaf AS leaf
    ON leaf.workspace_id = %(workspace)s AND leaf.id = near.node_id
 WHERE leaf.entity_id IS NOT NULL GROUP BY wanted.place, leaf.entity_id
"""  # noqa: S608 - constants
_WITH_VECTORS = f"({_BY_TERMS}) UNION ALL ({_BY_VECTOR})"


def find_candidates(
    workspace: Workspace, *, scope_id: UUID, asked: Sequence[Sought]
) -> list[list[tuple[UUID, float]]]:
    """By chunk: entities as they are named, with their similarity, best first; system ones too."""
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scope": scope_id,
        "places": [place for place, one in enumerate(asked) if one.query],
        "queries": [one.query for one in asked if one.query],
    }
    with_vectors = {place: one.vector for place, one in enumerate(asked) if one.vector}
    if with_vectors:
        values |= {
            "vector_places": list(with_vectors),
            "vectors": [HalfVector(list(v)).to_text() for v in with_vectors.values()],
            "model": current_model().pk,
        }
    found: _Found = defaultdict(list)
    for place, *row in fetch_rows(_WITH_VECTORS if with_vectors else _BY_TERMS, values):
        found[place].append((row[0], row[1], row[2]))
    for place, entity_id in _named(workspace, scope_id=scope_id, asked=asked):
        found[place].append((entity_id, EXACT_SIMILARITY, _BY_VECTOR_RANK + 1))
    return [_best(found[place]) for place in range(len(asked))]


def _named(
    workspace: Workspace, *, scope_id: UUID, asked: Sequence[Sought]
) -> list[tuple[int, UUID]]:
    """Place and entity, for each entity of which the text holds a name."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(asked):
        for run in one.runs:
            places[run].append(place)
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scope": scope_id,
        "runs": json.dumps(list(places)),
    }
    rows = fetch_rows(_BY_NAME, values)
    return [(place, entity_id) for entity_id, held in rows for place in places[held]]


def _best(rows: Sequence[tuple[UUID, float, int]]) -> list[tuple[UUID, float]]:
    """An owner that several parts find has the place of the best part."""
    named = sorted({entity_id for entity_id, _, rank in rows if rank > _BY_VECTOR_RANK})
    dropped = frozenset(named[MAX_SHORTLIST:])
    best: dict[UUID, tuple[int, float]] = {}
    for entity_id, similarity, rank in rows:
        if rank > _BY_VECTOR_RANK and entity_id in dropped:
            continue
        best[entity_id] = max(best.get(entity_id, (0, 0.0)), (rank, similarity))
    ordered = sorted(best.items(), key=lambda item: (-item[1][1], item[0]))
    return [(entity_id, similarity) for entity_id, (_, similarity) in ordered[: MAX_SHORTLIST + 1]]


_ENTITIES = """
SELECT * FROM workspaces_entity
 WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s
   AND (id = ANY(%(ids)s::uuid[]) OR (slug = %(fallback)s AND is_system)
        OR id IN (SELECT merged_into_id FROM workspaces_entity
                   WHERE workspace_id = %(workspace)s AND id = ANY(%(ids)s::uuid[])))
"""
_ENTITY_BY_NAME = """
SELECT * FROM workspaces_entity
 WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND NOT is_system
   AND normalised_names @> ARRAY[%(name)s]::varchar[]
 ORDER BY id LIMIT 1
"""
_THEIR_TREES = """;
SELECT tree.* FROM ({entities}) AS owner JOIN workspaces_tree AS tree
    ON tree.workspace_id = %(workspace)s AND tree.scope_id = %(scope)s
   AND tree.category = %(category)s AND tree.key = 'interaction:' || owner.slug
"""


def read_owners(workspace: Workspace, *, scope_id: UUID, ids: Sequence[UUID]) -> Owners:
    """These entities and the fallback bucket, each with its tree."""
    return _owners(
        workspace, entities=_ENTITIES, scope=scope_id, ids=list(ids), fallback=FALLBACK_SLUG
    )


def find_owner_by_name(workspace: Workspace, *, scope_id: UUID, name: str) -> Owners:
    """The entity with this compared name or alias, whatever its type."""
    return _owners(workspace, entities=_ENTITY_BY_NAME, scope=scope_id, name=name)


def _owners(workspace: Workspace, *, entities: str, **sought: Any) -> Owners:
    values = {"workspace": workspace.pk, "category": str(Category.INTERACTION), **sought}
    with connection.cursor() as cursor:
        cursor.execute(entities + _THEIR_TREES.format(entities=entities), values)
        found = {entity.id: entity for entity in read_rows(Entity, cursor)}
        cursor.nextset()
        trees = {tree.key: tree for tree in read_rows(Tree, cursor)}
    fallback = next((entity for entity in found.values() if entity.is_system), None)
    return Owners(found, trees, fallback)


def candidates_of(
    found: Sequence[tuple[UUID, float]], *, owners: Owners
) -> dict[UUID, EntityCandidate]:
    """What was merged stands for what it became part of, at the better of the two places."""
    ordered: dict[UUID, EntityCandidate] = {}
    for entity_id, similarity in found:
        named, owner = owners.entities.get(entity_id), owners.present(entity_id)
        if named is not None and owner is not None and not named.is_system:
            ordered.setdefault(owner.id, candidate(owner, similarity=similarity))
    return ordered


def candidate(entity: Entity, *, similarity: float) -> EntityCandidate:
    return EntityCandidate(
        entity_id=str(entity.id),
        type=entity.type,
        name=entity.name,
        aliases=tuple(entity.aliases),
        description=entity.description,
        similarity=similarity,
    )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk would go, and what it says there."""

    tree_id: UUID
    fingerprint: str
    subject_key: str
    vector: Sequence[float] | None


@dataclass(frozen=True, slots=True)
class KnownThere:
    """Of one place: leaves with its text (id, status, time), rivals, the latest, the nearest."""

    same: list[tuple[UUID, str, datetime]]
    rivals: tuple[UUID, ...]
    keyed: list[KnownLeaf]
    near: list[KnownLeaf]

    def with_this_text(self, *, at: datetime) -> UUID | None:
        """The active leaf, or a re-import: same text, same time, whatever its status."""
        for leaf_id, status, observed_at in self.same:
            if status == SourceLeaf.Status.ACTIVE or observed_at == at:
                return leaf_id
        return None


_WANTED = """
unnest(%(places)s::int[], %(trees)s::uuid[], %(fingerprints)s::text[], %(subjects)s::text[])
    AS wanted (place, tree, fingerprint, subject)
"""
_COLUMNS = "leaf.id, leaf.body_path, leaf.body_sha256, leaf.title, leaf.subject_key"
_SAME = f"""
SELECT wanted.place, leaf.id, leaf.status, leaf.observed_at FROM {_WANTED}
  JOIN workspaces_sourceleaf AS leaf ON leaf.workspace_id = %(workspace)s
   AND leaf.tree_id = wanted.tree AND leaf.fingerprint = wanted.fingerprint
   AND leaf.status NOT IN ('erasing', 'erased')
"""  # noqa: S608 - constants
_RIVALS = f"""
SELECT wanted.place, ARRAY(
         SELECT id FROM workspaces_sourceleaf
          WHERE workspace_id = %(workspace)s AND tree_id = wanted.tree
            AND subject_key = wanted.subject AND status = 'active'
          ORDER BY id DESC LIMIT {MAX_RIVALS})
  FROM {_WANTED} WHERE wanted.subject <> ''
"""  # noqa: S608 - constants
_KEYED = f"""
SELECT wanted.place, leaf.* FROM {_WANTED}
 CROSS JOIN LATERAL (
   SELECT {_COLUMNS}, leaf.observed_at FROM workspaces_sourceleaf AS leaf
    WHERE leaf.workspace_id = %(workspace)s AND leaf.tree_id = wanted.tree
      AND leaf.subject_key = wanted.subject AND leaf.status = 'active'
    ORDER BY leaf.observed_at DESC, leaf.id DESC LIMIT {MAX_COMPARED}) AS leaf
"""  # noqa: S608 - constants
_NEAR = f"""
WITH wanted AS MATERIALIZED (
  SELECT place, tree, vector::halfvec AS vector
    FROM unnest(%(places)s::int[], %(trees)s::uuid[], %(vectors)s::text[])
         AS given (place, tree, vector))
SELECT wanted.place, {_COLUMNS}, leaf.observed_at, near.distance
  FROM wanted
 CROSS JOIN LATERAL (
   SELECT node_id, embedding <=> wanted.vector AS distance FROM workspaces_vectorentry
    WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND kind = 'leaf'
      AND tree_id = wanted.tree AND status = 'active' AND model_id = %(model)s
    ORDER BY distance, node_id LIMIT {MAX_COMPARED}) AS near
  JOIN workspaces_sourceleaf AS leaf ON leaf.workspace_id = %(workspace)s
   AND leaf.id = near.node_id AND leaf.tree_id = wanted.tree AND leaf.status = 'active'
 ORDER BY wanted.place, near.distance, near.node_id
"""  # noqa: S608 - constants


def read_known(
    workspace: Workspace, *, scope_id: UUID, places: Sequence[Place]
) -> list[KnownThere]:
    """By place, in their order."""
    found = [KnownThere([], (), [], []) for _ in places]
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "places": list(range(len(places))),
        "trees": [place.tree_id for place in places],
        "fingerprints": [place.fingerprint for place in places],
        "subjects": [place.subject_key for place in places],
    }
    for index, leaf_id, status, observed_at in fetch_rows(_SAME, values):
        found[index].same.append((leaf_id, status, observed_at))
    for index, *columns in fetch_rows(_KEYED, values):
        found[index].keyed.append(KnownLeaf(*columns))
    rivals = {index: tuple(ids) for index, ids in fetch_rows(_RIVALS, values)}
    _read_near(workspace, scope_id=scope_id, places=places, found=found)
    return [
        KnownThere(known.same, rivals.get(index, ()), known.keyed, known.near)
        for index, known in enumerate(found)
    ]


def _read_near(
    workspace: Workspace, *, scope_id: UUID, places: Sequence[Place], found: Sequence[KnownThere]
) -> None:
    with_vectors: Mapping[int, Place] = {
        index: place for index, place in enumerate(places) if place.vector
    }
    if not with_vectors:
        return
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scope": scope_id,
        "places": list(with_vectors),
        "trees": [place.tree_id for place in with_vectors.values()],
        "vectors": [HalfVector(list(p.vector or ())).to_text() for p in with_vectors.values()],
        "model": current_model().pk,
    }
    for index, *columns in fetch_rows(_NEAR, values):
        found[index].near.append(KnownLeaf(*columns))
