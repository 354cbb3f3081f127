"""From what a judge or a caller named to the entity that it is today."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from workspaces.models.entities import Entity
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf


def present_ids(workspace: Workspace, *, ids: Iterable[UUID]) -> list[UUID]:
    """Each id once; of a merged entity the one that it became part of. Inside the step."""
    became = today_of(workspace, ids=ids)
    return list(dict.fromkeys(became[entity_id] for entity_id in ids if entity_id in became))


def today_of(workspace: Workspace, *, ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """By id the entity, or the one that it became part of; without those that are gone."""
    rows = workspace.entities.filter(id__in=list(ids)).values_list("id", "merged_into_id")
    return {entity_id: merged_into or entity_id for entity_id, merged_into in rows}


def family_ids(workspace: Workspace, *, entity_id: UUID) -> list[UUID]:
    """The entity and all that became part of it. Inside the step."""
    merged = workspace.entities.filter(merged_into=entity_id)
    return [entity_id, *merged.values_list("id", flat=True)]


def search_names(workspace: Workspace, *, leaves: Sequence[SourceLeaf]) -> Mapping[UUID, list[str]]:
    """By leaf: names and aliases of its entities, which belong to its text for search.

    The primary entity first; without the fallback bucket, whose name says nothing. A merged
    entity is found by the names of the one that it became part of. Inside the step.
    """
    wanted: dict[UUID, list[UUID]] = {
        leaf.id: [leaf.entity_id] if leaf.entity_id else [] for leaf in leaves
    }
    links = workspace.leaf_entities.filter(leaf__in=list(wanted)).order_by("entity_id")
    for leaf_id, entity_id in links.values_list("leaf_id", "entity_id"):
        wanted[leaf_id].append(entity_id)
    rows = workspace.entities.select_related("merged_into").filter(
        id__in={entity_id for ids in wanted.values() for entity_id in ids}, is_system=False
    )
    entities = {entity.id: entity.merged_into or entity for entity in rows}
    return {
        leaf_id: names_for_search(entities[entity_id] for entity_id in ids if entity_id in entities)
        for leaf_id, ids in wanted.items()
    }


def names_for_search(entities: Iterable[Entity]) -> list[str]:
    """Each name once, in order of the entities."""
    return list(dict.fromkeys(name for entity in entities for name in entity.all_names))
