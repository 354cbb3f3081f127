"""Step 4 of the write path: the at most 24 entities that a chunk may be about.

Exact names and aliases come first, then the owners of the most similar leaves.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from holamem.database.prepared import fetch_rows
from holamem.database.scope import workspace_scope
from holamem.text.normalise import normalise_name
from holamem.text.segment import query_terms, to_tsquery_literal
from workspaces.index.embedding import current_model
from workspaces.index.entries import scope_lexeme
from workspaces.judging.base import EntityCandidate
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
    terms = query_terms(text)
    parts = [_BY_TERMS] if terms else []
    parts += [_BY_VECTOR] if vector else []
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scope": event.scope_id,
        "runs": name_runs(text),
    }
    if terms:
        scope = scope_lexeme(workspace.pk, event.scope_id)
        values["query"] = to_tsquery_literal(terms, all_of=[scope])
    if vector:
        # Vectors of another model are not comparable, and of another dimension an error.
        values |= {"vector": HalfVector(list(vector)).to_text(), "model": current_model().pk}
    with workspace_scope(workspace, [event.scope_id]):
        rows = fetch_rows(_statement((*parts, _NAMED)), values)
    # What was merged stands for what it became part of, at the better of the two places.
    ordered: dict[UUID, EntityCandidate] = {}
    for entity_id, *rest in rows:
        ordered.setdefault(entity_id, _candidate(entity_id, *rest))
    return list(ordered.values())[:MAX_SHORTLIST]


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


# Raw SQL, and one statement for all: it is asked for every chunk, and the ways to the server and
# back cost more than the answers. An owner that several parts find has the place of the best part.
_SHORTLIST = """
SELECT owner.id, owner.type, owner.name, owner.aliases, owner.description, best.similarity
  FROM (SELECT entity_id, similarity FROM (
          SELECT DISTINCT ON (entity_id) entity_id, similarity FROM ({parts}) AS part
           ORDER BY entity_id, part.rank DESC) AS found
         ORDER BY similarity DESC, entity_id LIMIT {most}) AS best
  JOIN workspaces_entity AS named
    ON named.workspace_id = %(workspace)s AND named.id = best.entity_id AND NOT named.is_system
  JOIN workspaces_entity AS owner ON owner.workspace_id = named.workspace_id
   AND owner.id = coalesce(named.merged_into_id, named.id)
 ORDER BY best.similarity DESC, best.entity_id
"""
# A hashed look-up of each stored name. The ORM's overlap compares every name with every run, since
# row-level security keeps `&&` out of an index (seconds for a Chinese page).
_NAMED = f"""
(SELECT entity.id AS entity_id, {EXACT_SIMILARITY}::float AS similarity, 3 AS rank
   FROM workspaces_entity AS entity
  WHERE entity.workspace_id = %(workspace)s AND entity.scope_id = %(scope)s
    AND NOT entity.is_system AND EXISTS (
      SELECT 1 FROM unnest(entity.normalised_names) AS known(name)
       WHERE known.name = ANY(%(runs)s::text[]))
  ORDER BY entity.id LIMIT {MAX_SHORTLIST})
"""  # noqa: S608 - constants
# Nearest leaves first, then their owners: the ORM cannot group a limited scan.
_BY_VECTOR = f"""
(SELECT leaf.entity_id, least(max(near.similarity), 0.99) AS similarity, 2 AS rank FROM (
   SELECT node_id, 1 - (embedding <=> %(vector)s::halfvec) AS similarity
     FROM workspaces_vectorentry
    WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND kind = 'leaf'
      AND status = 'active' AND model_id = %(model)s
    ORDER BY embedding <=> %(vector)s::halfvec LIMIT {NEAREST_LEAVES}) AS near
   JOIN workspaces_sourceleaf AS leaf
     ON leaf.workspace_id = %(workspace)s AND leaf.id = near.node_id
  WHERE leaf.entity_id IS NOT NULL GROUP BY leaf.entity_id)
"""  # noqa: S608 - constants
_BY_TERMS = f"""
(SELECT DISTINCT leaf.entity_id, {LEXICAL_SIMILARITY}::float AS similarity, 1 AS rank FROM (
   SELECT node_id FROM workspaces_lexemeentry
    WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND kind = 'leaf'
      AND status = 'active' AND lexemes @@ %(query)s::tsquery
    ORDER BY ts_rank(lexemes, %(query)s::tsquery, 1) DESC, node_id LIMIT {NEAREST_LEAVES}) AS near
   JOIN workspaces_sourceleaf AS leaf
     ON leaf.workspace_id = %(workspace)s AND leaf.id = near.node_id
  WHERE leaf.entity_id IS NOT NULL)
"""  # noqa: S608 - constants


@cache
def _statement(parts: Sequence[str]) -> str:
    return _SHORTLIST.format(parts=" UNION ALL ".join(parts), most=MAX_SHORTLIST + 1)


def _candidate(
    entity_id: UUID,
    type: str,
    name: str,
    aliases: Sequence[str],
    description: str,
    similarity: float,
) -> EntityCandidate:
    return EntityCandidate(
        entity_id=str(entity_id),
        type=type,
        name=name,
        aliases=tuple(aliases),
        description=description,
        similarity=similarity,
    )
