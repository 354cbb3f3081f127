"""What people do to the names of an entity: rename it, give it aliases, take them away.

Slug and tree stay for ever; the tree's title follows the name, and the old name becomes an
alias, so that nothing that was found by a name is lost by the change.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, InvalidInput, NotFound
from holamem.text.normalise import normalise_name
from workspaces import access
from workspaces.models.entities import Entity
from workspaces.models.tenancy import Workspace
from workspaces.services.audit import record
from workspaces.services.entities.names import (
    MAX_ALIASES,
    compared_names,
    lock_entities,
    lock_names,
    require_free,
    usable_name,
)
from workspaces.services.entities.refresh import request_mirror, request_refresh
from workspaces.services.principals import Principal

Scopes = Sequence[UUID] | str | None
DESCRIPTION_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class EntityChanged:
    """`audit_id` is None when the entity was already as it was asked to be."""

    slug: str
    audit_id: UUID | None


@dataclass(frozen=True, slots=True)
class EntityEdit:
    """None leaves a field as it is; `aliases` is the whole list that is to be."""

    name: str | None = None
    aliases: Sequence[str] | None = None
    description: str | None = None


def rename_entity(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, slug: str, name: str
) -> EntityChanged:
    """Raises NotFound, InvalidInput for a name that is none, Conflict for one that is taken."""
    with changing(workspace, scopes=scopes, slug=slug) as entity:
        return EntityChanged(slug, _rename(workspace, entity, principal=principal, name=name))


def add_alias(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, slug: str, alias: str
) -> EntityChanged:
    """As for names; one that the entity has already changes nothing."""
    with changing(workspace, scopes=scopes, slug=slug) as entity:
        return EntityChanged(slug, _add_alias(workspace, entity, principal=principal, alias=alias))


def remove_alias(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, slug: str, alias: str
) -> EntityChanged:
    """Raises NotFound for an alias that it does not have, Conflict for its own name."""
    with changing(workspace, scopes=scopes, slug=slug) as entity:
        audit_id = _remove_alias(workspace, entity, principal=principal, alias=alias)
        return EntityChanged(slug, audit_id)


def edit_entity(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, slug: str, edit: EntityEdit
) -> list[UUID]:
    """All of it or nothing; returns the audit entries, none when nothing changed.

    Aliases come before the name, so that the name that is given up stays as one of them.
    """
    with changing(workspace, scopes=scopes, slug=slug) as entity:
        done: list[UUID | None] = []
        if edit.aliases is not None:
            done += _set_aliases(workspace, entity, principal=principal, aliases=edit.aliases)
        if edit.name is not None:
            done.append(_rename(workspace, entity, principal=principal, name=edit.name))
        if edit.description is not None:
            done.append(_describe(workspace, entity, principal=principal, text=edit.description))
    return [audit_id for audit_id in done if audit_id is not None]


@contextmanager
def changing(workspace: Workspace, *, scopes: Scopes, slug: str) -> Iterator[Entity]:
    """One step that holds the names of the scope, the entity's trees and the entity."""
    found = access.get_entity(workspace, scopes=scopes, slug=slug)
    with workspace_scope(workspace, [found.scope_id]):
        yield hold_for_change(workspace, scope_id=found.scope_id, entity_id=found.id)


def hold_for_change(workspace: Workspace, *, scope_id: UUID, entity_id: UUID) -> Entity:
    """In the caller's step. Raises Conflict for what has no names of its own to change."""
    lock_names(scope_id)
    trees = workspace.trees.select_for_update(of=("self",)).filter(entity=entity_id)
    list(trees.order_by("id").values_list("id", flat=True))
    entity = lock_entities(workspace, ids=[entity_id])[entity_id]
    if entity.is_system:
        raise Conflict("This entity belongs to the system and stays as it is.")
    if entity.merged_into_id is not None:
        target = workspace.entities.get(id=entity.merged_into_id)
        raise Conflict(
            f"This entity was merged into {target.slug}.",
            detail={"code": "merged", "slug": target.slug},
        )
    return entity


def give_name(workspace: Workspace, entity: Entity, *, name: str) -> None:
    """The name and the title of its tree; the old one becomes an alias if it reads otherwise.

    In the caller's step, on an entity that it holds; the name is usable and free.
    """
    compared = normalise_name(name)
    others = [entity.name, *entity.aliases]
    kept = [other for other in others if normalise_name(other) != compared]
    entity.name, entity.aliases = name, list(dict.fromkeys(kept))
    save_names(workspace, entity)
    workspace.trees.filter(entity=entity).update(title=name)


def save_names(workspace: Workspace, entity: Entity) -> None:
    entity.normalised_name = normalise_name(entity.name)
    entity.normalised_names = compared_names(entity)
    entity.save(update_fields=["name", "aliases", "normalised_name", "normalised_names"])
    request_refresh(workspace, entities=[entity])


def _rename(
    workspace: Workspace, entity: Entity, *, principal: Principal, name: str
) -> UUID | None:
    wanted, old = usable_name(name, field="name"), entity.name
    if wanted == old:
        return None
    require_free(workspace, entity=entity, name=wanted, field="name")
    was_alias = normalise_name(wanted) in map(normalise_name, entity.aliases)
    give_name(workspace, entity, name=wanted)
    detail = {"old": old, "new": wanted, "was_alias": was_alias}
    return _note(workspace, entity, principal=principal, action="renamed", detail=detail)


def _add_alias(
    workspace: Workspace, entity: Entity, *, principal: Principal, alias: str
) -> UUID | None:
    wanted = usable_name(alias, field="alias")
    if normalise_name(wanted) in compared_names(entity):
        return None
    if len(entity.aliases) >= MAX_ALIASES:
        raise InvalidInput(
            f"An entity has at most {MAX_ALIASES} aliases.",
            field="alias",
            detail={"code": "too_many"},
        )
    require_free(workspace, entity=entity, name=wanted, field="alias")
    entity.aliases = [*entity.aliases, wanted]
    save_names(workspace, entity)
    detail = {"alias": wanted}
    return _note(workspace, entity, principal=principal, action="alias_added", detail=detail)


def _remove_alias(
    workspace: Workspace, entity: Entity, *, principal: Principal, alias: str
) -> UUID:
    compared = normalise_name(alias)
    if compared == entity.normalised_name:
        raise Conflict(
            "The name itself cannot be removed; rename the entity.",
            field="alias",
            detail={"code": "primary_name"},
        )
    removed = [known for known in entity.aliases if normalise_name(known) == compared]
    if not removed:
        raise NotFound("The entity has no such alias.", field="alias")
    entity.aliases = [known for known in entity.aliases if known not in removed]
    save_names(workspace, entity)
    detail = {"alias": removed[0]}
    return _note(workspace, entity, principal=principal, action="alias_removed", detail=detail)


def _set_aliases(
    workspace: Workspace, entity: Entity, *, principal: Principal, aliases: Sequence[str]
) -> list[UUID | None]:
    """What is missing in the list goes first, so that a spelling can be set right."""
    wanted = {normalise_name(usable_name(alias, field="aliases")) for alias in aliases}
    gone = [known for known in entity.aliases if normalise_name(known) not in wanted]
    return [
        *(_remove_alias(workspace, entity, principal=principal, alias=alias) for alias in gone),
        *(_add_alias(workspace, entity, principal=principal, alias=alias) for alias in aliases),
    ]


def _describe(
    workspace: Workspace, entity: Entity, *, principal: Principal, text: str
) -> UUID | None:
    """The entry says that it changed, not to what: a description is free text."""
    if text == entity.description:
        return None
    entity.description = text
    entity.save(update_fields=["description"])
    request_mirror(workspace, entity_ids=[entity.id])
    return _note(workspace, entity, principal=principal, action="described", detail={})


def _note(
    workspace: Workspace,
    entity: Entity,
    *,
    principal: Principal,
    action: str,
    detail: Mapping[str, object],
) -> UUID:
    return record(
        workspace,
        principal=principal,
        action=f"entity.{action}",
        target_id=entity.id,
        detail={"slug": entity.slug, **detail},
        scope_id=entity.scope_id,
    )
