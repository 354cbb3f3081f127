"""Entities as people look at them: the list, one of them, and what a merge would move."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from holamem.database.scope import workspace_scope
from holamem.errors import InvalidInput, NotFound
from holamem.text.normalise import normalise_name
from workspaces.models.entities import Entity
from workspaces.models.merges import EntityMerge
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree
from workspaces.services.paging import Page, read_page
from workspaces.services.tree_view import owner_names

RUNNING_MERGES = (EntityMerge.State.MOVING, EntityMerge.State.UNDOING)
MAX_MERGES = 20  # shown of one entity
MAX_CHOICES = 100  # offered while typing; any other is found by its whole name
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class EntityFilter:
    type: str = ""
    search: str = ""


@dataclass(frozen=True, slots=True)
class EntityRow:
    """`leaf_count` counts current leaves; `owner` is an end user, None for shared memory.

    `merged_into` is the entity that this one became part of; the name of a nameless one was
    erased with all that was known of it.
    """

    id: UUID
    scope_id: UUID
    slug: str
    name: str
    type: str
    aliases: list[str]
    description: str
    is_system: bool
    created_at: datetime
    leaf_count: int
    tree_id: UUID | None
    owner: str | None
    merged_into: UUID | None
    is_nameless: bool

    @property
    def can_change(self) -> bool:
        """The system's own entity, a merged one and an erased one keep what they are."""
        return not self.is_system and self.merged_into is None and not self.is_nameless


@dataclass(frozen=True, slots=True)
class MergeLine:
    """A merge that this entity is the source or the target of, with the leaves moved so far."""

    source_id: UUID
    source_name: str
    target_id: UUID
    target_name: str
    state: str
    done: int
    total: int
    created_at: datetime

    @property
    def is_running(self) -> bool:
        return self.state in RUNNING_MERGES


@dataclass(frozen=True, slots=True)
class EntityDetail:
    """`mentions` are leaves of other trees that speak of this entity as well."""

    row: EntityRow
    mentions: int
    merges: list[MergeLine]


@dataclass(frozen=True, slots=True)
class EntityChoice:
    slug: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class MergePreview:
    """What would move from `source` into `target`, and the names that would lead there."""

    source: EntityRow
    target: EntityRow
    leaves: int
    mentions: int
    names: list[str]


def list_entity_rows(
    workspace: Workspace, *, scopes: Scopes, wanted: EntityFilter, page: int
) -> Page[EntityRow]:
    """By name, without merged ones. Three queries, whatever the number of rows."""
    with workspace_scope(workspace, scopes):
        rows = workspace.entities.filter(merged_into=None)
        if wanted.type:
            rows = rows.filter(type=wanted.type)
        if wanted.search:
            rows = rows.filter(_spoken_of(wanted.search))
        found = read_page(rows.order_by("name", "id"), number=page)
        return found.map(lambda entities: _entity_rows(workspace, entities))


def _spoken_of(search: str) -> Q:
    """A part of the name or slug, or a whole alias: parts of aliases have no index to use."""
    compared = normalise_name(search)
    return (
        Q(name__icontains=search)
        | Q(slug__icontains=search)
        | Q(normalised_name__contains=compared)
        | Q(normalised_names__contains=[compared])
    )


def entity_type_counts(workspace: Workspace, *, scopes: Scopes) -> dict[str, int]:
    with workspace_scope(workspace, scopes):
        rows = workspace.entities.filter(merged_into=None).order_by()
        counted = rows.values("type").annotate(n=Count("id"))
        return dict(counted.values_list("type", "n"))


def entity_detail(workspace: Workspace, *, scopes: Scopes, entity_id: UUID) -> EntityDetail:
    """Raises NotFound."""
    with workspace_scope(workspace, scopes):
        entity = _get_entity(workspace, entity_id=entity_id)
        return EntityDetail(
            row=_entity_rows(workspace, [entity])[0],
            mentions=_mentions(workspace, entity),
            merges=_merges(workspace, entity),
        )


def entity_choices(
    workspace: Workspace, *, scope_id: UUID, without: UUID | None = None
) -> list[EntityChoice]:
    """Entities of one scope by name, the first hundred; uncategorized is never one of them."""
    with workspace_scope(workspace, [scope_id]):
        rows = _named(workspace, scope_id=scope_id)
        if without is not None:
            rows = rows.exclude(id=without)
        found = rows.order_by("name", "id")[:MAX_CHOICES]
        return [EntityChoice(row.slug, row.name, row.type) for row in found if not row.is_nameless]


def named_entity(workspace: Workspace, *, scope_id: UUID, text: str) -> EntityChoice:
    """The entity that a person means by a slug, a name or an alias.

    Raises InvalidInput when there is none, or when several share the name.
    """
    compared = normalise_name(text.strip())
    with workspace_scope(workspace, [scope_id]):
        rows = _named(workspace, scope_id=scope_id)
        by_slug = rows.filter(slug=text.strip()).first()
        found = (
            [by_slug]
            if by_slug is not None
            else list(
                rows.filter(normalised_names__contains=[compared]).order_by("id")[:MAX_CHOICES]
            )
        )
    if not found:
        raise unknown_entity()
    if len(found) > 1:
        slugs = ", ".join(row.slug for row in found)
        raise InvalidInput(
            "Several entities have this name; write the slug of one.",
            field="entity",
            detail={"code": "several_entities", "slugs": slugs},
        )
    return EntityChoice(found[0].slug, found[0].name, found[0].type)


def unknown_entity() -> InvalidInput:
    return InvalidInput(
        "No entity has this name.", field="entity", detail={"code": "unknown_entity"}
    )


def merge_preview(
    workspace: Workspace, *, scopes: Scopes, entity_id: UUID, into: str
) -> MergePreview:
    """`into` is a slug, name or alias in the scope of the entity. Raises NotFound, InvalidInput."""
    with workspace_scope(workspace, scopes):
        scope_id = _get_entity(workspace, entity_id=entity_id).scope_id
    choice = named_entity(workspace, scope_id=scope_id, text=into)
    with workspace_scope(workspace, scopes):
        source = _get_entity(workspace, entity_id=entity_id)
        target = _named(workspace, scope_id=scope_id).filter(slug=choice.slug).first()
        if target is None:
            raise unknown_entity()
        rows = {row.id: row for row in _entity_rows(workspace, [source, target])}
        return MergePreview(
            source=rows[source.id],
            target=rows[target.id],
            leaves=rows[source.id].leaf_count,
            mentions=_mentions(workspace, source),
            names=_names_that_come(workspace, source=source, target=target),
        )


def _names_that_come(workspace: Workspace, *, source: Entity, target: Entity) -> list[str]:
    """Names of the source that will lead to the target: those that nobody else has there."""
    compared = {name: normalise_name(name) for name in source.all_names}
    others = workspace.entities.filter(
        scope_id=target.scope_id,
        type=target.type,
        normalised_names__overlap=list(compared.values()),
    ).exclude(id__in=[source.id, target.id])
    taken = {name for names in others.values_list("normalised_names", flat=True) for name in names}
    taken.update(target.normalised_names)
    return [name for name, folded in compared.items() if folded not in taken]


def _named(workspace: Workspace, *, scope_id: UUID) -> QuerySet[Entity]:
    """Entities of one scope that a leaf can be about."""
    return workspace.entities.filter(scope_id=scope_id, is_system=False, merged_into=None)


def _get_entity(workspace: Workspace, *, entity_id: UUID) -> Entity:
    entity = workspace.entities.filter(id=entity_id).first()
    if entity is None:
        raise NotFound("There is no such entity.")
    return entity


def _mentions(workspace: Workspace, entity: Entity) -> int:
    links = workspace.leaf_entities.filter(entity=entity)
    return links.filter(leaf__status=SourceLeaf.Status.ACTIVE).count()


def _merges(workspace: Workspace, entity: Entity) -> list[MergeLine]:
    rows = workspace.merges.filter(source=entity) | workspace.merges.filter(target=entity)
    return [
        MergeLine(
            source_id=row.source_id,
            source_name=row.source.name,
            target_id=row.target_id,
            target_name=row.target.name,
            state=row.state,
            done=row.leaves_done,
            total=row.leaves_total,
            created_at=row.created_at,
        )
        for row in rows.select_related("source", "target").order_by("-id")[:MAX_MERGES]
    ]


def _entity_rows(workspace: Workspace, entities: Iterable[Entity]) -> list[EntityRow]:
    entities = list(entities)
    trees = _trees_of(workspace.trees.filter(entity__in=entities))
    owners = owner_names(workspace, scope_ids=[entity.scope_id for entity in entities])
    return [
        EntityRow(
            id=entity.id,
            scope_id=entity.scope_id,
            slug=entity.slug,
            name=entity.name,
            type=entity.type,
            aliases=list(entity.aliases),
            description=entity.description,
            is_system=entity.is_system,
            created_at=entity.created_at,
            leaf_count=trees[entity.id].leaf_count if entity.id in trees else 0,
            tree_id=trees[entity.id].id if entity.id in trees else None,
            owner=owners.get(entity.scope_id),
            merged_into=entity.merged_into_id,
            is_nameless=entity.is_nameless,
        )
        for entity in entities
    ]


def _trees_of(rows: QuerySet[Tree]) -> dict[UUID, Tree]:
    """The tree of each entity; it has one at most."""
    return {tree.entity_id: tree for tree in rows if tree.entity_id is not None}
