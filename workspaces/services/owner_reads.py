"""Entities of one scope with their trees, read for several chunks in one look."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from holamem.database.rows import read_rows
from workspaces.judging.base import EntityCandidate
from workspaces.models.entities import Entity
from workspaces.models.log import Category
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import Tree

FALLBACK_SLUG = "uncategorized"


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

    def tree_of(self, entity: Entity) -> Tree | None:
        return self.trees.get(f"interaction:{entity.slug}")


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


def candidate(entity: Entity, *, similarity: float) -> EntityCandidate:
    return EntityCandidate(
        entity_id=str(entity.id),
        type=entity.type,
        name=entity.name,
        aliases=tuple(entity.aliases),
        description=entity.description,
        similarity=similarity,
    )
