"""Step 4 of the write path: the at most 24 entities that a chunk may be about.

Exact names and aliases come first, then the owners of the most similar leaves.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from pgvector import HalfVector

from holamem.database.scope import workspace_scope
from holamem.text.normalise import normalise_name
from holamem.text.segment import query_terms, to_tsquery_literal
from workspaces.index.embedding import current_model
from workspaces.index.entries import scope_lexeme
from workspaces.judging.base import EntityCandidate
from workspaces.models.entities import Entity
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace

MAX_SHORTLIST = 24
NEAREST_LEAVES = 40
NAME_WORDS = 6
HAN_NAME_CHARACTERS = 12
EXACT_SIMILARITY = 1.0
LEXICAL_SIMILARITY = 0.5  # ranks below a close vector, above nothing

_HAN_RUN = re.compile(r"[\u3400-\u9fff][\u3400-\u9fffA-Za-z0-9]*")


def entity_shortlist(
    workspace: Workspace, *, event: Event, text: str, vector: Sequence[float] | None
) -> list[EntityCandidate]:
    """Best first. The fallback bucket is never a candidate: it is where a chunk goes when unsure."""
    with workspace_scope(workspace, [event.scope_id]):
        ranks = _owners_by_terms(workspace, event, text)
        ranks |= _owners_by_vector(workspace, event, vector) if vector else {}
        ranks |= _named(workspace, event, text)
        best = sorted(ranks, key=lambda entity_id: (-ranks[entity_id], entity_id))
        entities = _present(workspace, ids=best[: MAX_SHORTLIST + 1]) if best else {}
    # What was merged stands for what it became part of, at the better of the two places.
    ordered: dict[UUID, EntityCandidate] = {}
    for entity_id in best:
        if entity_id in entities:
            entity = entities[entity_id]
            ordered.setdefault(entity.id, _candidate(entity, ranks[entity_id]))
    return list(ordered.values())[:MAX_SHORTLIST]


# Raw SQL for what is read for every chunk: the ORM takes longer to build it than it takes to run.
_PRESENT = """
SELECT named.id AS named_id, owner.* FROM workspaces_entity AS named
  JOIN workspaces_entity AS owner ON owner.workspace_id = named.workspace_id
   AND owner.id = coalesce(named.merged_into_id, named.id)
 WHERE named.workspace_id = %s AND named.id = ANY(%s::uuid[]) AND NOT named.is_system
"""


def _present(workspace: Workspace, *, ids: Sequence[UUID]) -> dict[UUID, Entity]:
    """By id, of a merged entity the one that it became part of."""
    rows: Any = workspace.entities.raw(_PRESENT, [workspace.pk, list(ids)])
    return {entity.named_id: entity for entity in rows}


def name_runs(text: str) -> list[str]:
    """Every run of words in the text that could be a stored name, as names are compared."""
    words = normalise_name(text).split()
    runs = {
        " ".join(words[start : start + size])
        for start in range(len(words))
        for size in range(1, NAME_WORDS + 1)
    }
    for match in _HAN_RUN.finditer(normalise_name(text)):
        run = match.group()
        runs.update(
            run[start : start + size]
            for start in range(len(run))
            for size in range(2, HAN_NAME_CHARACTERS + 1)
        )
    return sorted(runs)


# Raw SQL for a hashed look-up of each stored name. The ORM's overlap compares every name with
# every run, since row-level security keeps `&&` out of an index (seconds for a Chinese page).
_NAMED = """
SELECT entity.id, %(exact)s::float FROM workspaces_entity AS entity
 WHERE entity.workspace_id = %(workspace)s AND entity.scope_id = %(scope)s
   AND NOT entity.is_system AND EXISTS (
     SELECT 1 FROM unnest(entity.normalised_names) AS known(name)
      WHERE known.name = ANY(%(runs)s::text[]))
 ORDER BY entity.id LIMIT %(shortlist)s
"""


def _named(workspace: Workspace, event: Event, text: str) -> dict[UUID, float]:
    values = {"runs": name_runs(text), "exact": EXACT_SIMILARITY, "shortlist": MAX_SHORTLIST}
    return dict(_rows(_NAMED, workspace, event, values))


# Nearest leaves first, then their owners: raw SQL because the ORM cannot group a limited scan.
_BY_VECTOR = """
SELECT leaf.entity_id, max(near.similarity) FROM (
  SELECT node_id, 1 - (embedding <=> %(vector)s::halfvec) AS similarity
    FROM workspaces_vectorentry
   WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND kind = 'leaf'
     AND status = 'active' AND model_id = %(model)s
   ORDER BY embedding <=> %(vector)s::halfvec LIMIT %(limit)s) AS near
  JOIN workspaces_sourceleaf AS leaf
    ON leaf.workspace_id = %(workspace)s AND leaf.id = near.node_id
 WHERE leaf.entity_id IS NOT NULL GROUP BY leaf.entity_id
"""
_BY_TERMS = """
SELECT DISTINCT leaf.entity_id, %(lexical)s::float FROM (
  SELECT node_id FROM workspaces_lexemeentry
   WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND kind = 'leaf'
     AND status = 'active' AND lexemes @@ %(query)s::tsquery
   ORDER BY ts_rank(lexemes, %(query)s::tsquery, 1) DESC, node_id LIMIT %(limit)s) AS near
  JOIN workspaces_sourceleaf AS leaf
    ON leaf.workspace_id = %(workspace)s AND leaf.id = near.node_id
 WHERE leaf.entity_id IS NOT NULL
"""


def _owners_by_vector(
    workspace: Workspace, event: Event, vector: Sequence[float]
) -> dict[UUID, float]:
    # Vectors of another model are not comparable, and of another dimension an error.
    values = {
        "vector": HalfVector(list(vector)).to_text(),
        "model": current_model().pk,
    }
    rows = _rows(_BY_VECTOR, workspace, event, values)
    return {entity_id: min(similarity, 0.99) for entity_id, similarity in rows}


def _owners_by_terms(workspace: Workspace, event: Event, text: str) -> dict[UUID, float]:
    terms = query_terms(text)
    if not terms:
        return {}
    scope = scope_lexeme(workspace.pk, event.scope_id)
    query = to_tsquery_literal(terms, all_of=[scope])
    rows = _rows(_BY_TERMS, workspace, event, {"query": query})
    return dict(rows)


def _rows(
    sql: str, workspace: Workspace, event: Event, extra: Mapping[str, object]
) -> list[tuple[UUID, float]]:
    parameters: dict[str, Any] = {
        "workspace": workspace.pk,
        "scope": event.scope_id,
        "limit": NEAREST_LEAVES,
        "lexical": LEXICAL_SIMILARITY,
        **extra,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def _candidate(entity: Entity, similarity: float) -> EntityCandidate:
    return EntityCandidate(
        entity_id=str(entity.id),
        type=entity.type,
        name=entity.name,
        aliases=tuple(entity.aliases),
        description=entity.description,
        similarity=similarity,
    )
