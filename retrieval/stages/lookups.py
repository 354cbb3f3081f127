"""Statement 1: the workspace's names for what the request speaks of.

Raw SQL: one round trip for entities, trees and providers, and the match runs the other way
round (which stored names occur in the query?), for which the ORM has no expression.
"""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from holamem.database.one_trip import read_step
from holamem.text.languages import has_han
from holamem.text.normalise import normalise_name
from retrieval.definitions import RetrieveRequest
from retrieval.types import EntityMatch, Lookups, Provider, Scopes
from workspaces.index.search import scope_list
from workspaces.models.tenancy import Workspace

# Names that were asked for come first, then the longest: short ones occur inside other words.
MAX_MATCHES = 200
MAX_ENTITIES = 12
# Shorter names would be found inside other words.
SHORTEST_NAME = 2

_STATEMENT = """
SELECT 'entity', e.id::text, e.name, e.slug, e.type, e.aliases,
       e.is_asked, e.merged_into_id::text
  FROM (SELECT own.*, coalesce(own.slug = ANY(%(names)s::text[]) OR target.slug = ANY(%(names)s::text[])
               OR own.normalised_names && %(folded_names)s::varchar[]
               OR target.normalised_names && %(folded_names)s::varchar[], false) AS is_asked
          FROM (SELECT * FROM workspaces_entity
                 WHERE workspace_id = %(workspace)s {scope} AND NOT is_system) own
          LEFT JOIN workspaces_entity target
            ON target.workspace_id = own.workspace_id AND target.id = own.merged_into_id) e
 WHERE e.is_asked OR EXISTS (SELECT 1 FROM unnest(e.normalised_names) known
                              WHERE strpos(%(query)s::text, known) > 0)
 ORDER BY 7 DESC, length(e.normalised_name) DESC, e.id
 LIMIT {limit}
"""
_TREES = """
UNION ALL
SELECT 'tree', t.id::text, t.key, '', '', NULL, true, NULL
  FROM workspaces_tree t
 WHERE t.workspace_id = %(workspace)s {scope}
   AND (t.key = ANY(%(trees)s::text[]) OR t.id::text = ANY(%(trees)s::text[]))
"""
_PROVIDERS = """
UNION ALL
(SELECT 'provider', NULL, t.provider, t.account, '', NULL, false, NULL
   FROM workspaces_tree t
  WHERE t.workspace_id = %(workspace)s {scope} AND t.category = 'integration'
  ORDER BY t.provider, t.account LIMIT 50)
UNION ALL
SELECT 'trees', count(*)::text, '', '', '', NULL, false, NULL
  FROM workspaces_tree t WHERE t.workspace_id = %(workspace)s {scope} AND t.status = 'active'
"""


def look_up(workspace: Workspace, *, scopes: Scopes, request: RetrieveRequest) -> Lookups:
    """One statement. A name that the workspace does not know resolves to nothing, not to all."""
    names = request.entities or []
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scopes": scope_list(workspace, scopes),
        "query": normalise_name(request.query),
        "names": [name.lower() for name in names],
        "folded_names": [normalise_name(name) for name in names],
        "trees": request.tree_filter or [],
    }
    scope = "" if isinstance(scopes, str) else "AND scope_id = ANY(%(scopes)s::uuid[])"
    statement = f"({_STATEMENT}){_TREES}{_PROVIDERS}".replace("{scope}", scope)
    rows = read_step(
        workspace,
        scopes,
        statement=statement.replace("{limit}", str(MAX_MATCHES)),
        values=values,
    )
    return _lookups(rows, request=request)


def _lookups(rows: Sequence[tuple[Any, ...]], *, request: RetrieveRequest) -> Lookups:
    by_kind: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        by_kind.setdefault(row[0], []).append(row)
    entities = by_kind.get("entity", [])
    return Lookups(
        entities=mentioned_entities(entities, query=request.query),
        tree_ids=_resolved(by_kind.get("tree", []), request.tree_filter),
        entity_ids=_resolved([row for row in entities if row[6]], request.entities),
        providers=tuple(Provider(row[2], row[3]) for row in by_kind.get("provider", [])),
        trees=int(by_kind["trees"][0][1]),
    )


def _resolved(
    rows: Sequence[tuple[Any, ...]], asked: Sequence[str] | None
) -> tuple[UUID, ...] | None:
    """A merged entity and what it became part of are one: its history stands under its own id."""
    found = {row[1] for row in rows} | {row[7] for row in rows if row[7]}
    return None if asked is None else tuple(sorted(map(UUID, found)))


def mentioned_entities(rows: Sequence[tuple[Any, ...]], *, query: str) -> tuple[EntityMatch, ...]:
    """Rows whose name or alias stands in the query as a word; the longest names come first."""
    folded = normalise_name(query)
    found = []
    for _, entity_id, name, slug, kind, aliases, _, merged_into in rows:
        if merged_into is not None:  # its names are those of another entity now
            continue
        matched = [n for n in (name, *(aliases or ())) if stands_in(normalise_name(n), folded)]
        if matched:
            length = max(len(normalise_name(n)) for n in matched)
            match = EntityMatch(UUID(entity_id), name, slug, kind, tuple(matched))
            found.append((-length, name, match))
    found.sort(key=lambda item: (item[0], item[1], item[2].entity_id))
    return tuple(match for _, _, match in found[:MAX_ENTITIES])


def stands_in(name: str, folded: str) -> bool:
    """Whether the name occurs in the text as a word of its own; Chinese has no word ends."""
    if len(name) < SHORTEST_NAME:
        return False
    if has_han(name):
        return name in folded
    return re.search(rf"(?<![a-z0-9]){re.escape(name)}(?:s|'s)?(?![a-z0-9])", folded) is not None
