"""Names of entities: which may be given, which are taken, and holding still while they change.

Locks are taken in one order everywhere: names of the scope, merge, trees, entities, leaves, jobs.
"""

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db import connection

from holamem.errors import Conflict, InvalidInput
from holamem.text.normalise import normalise, normalise_name
from workspaces.judging.relations_told import is_relation
from workspaces.models.entities import Entity
from workspaces.models.tenancy import Workspace
from workspaces.services.placement import NAME_CHARACTERS, is_usable_name

MAX_ALIASES = 100  # that people may give; a merge may bring more


def lock_names(scope_id: UUID) -> None:
    """Until the step ends nobody else gives or takes a name in this scope.

    No index can hold the rule that a name is nobody's alias: an alias is an element of a list.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"entity names {scope_id}"]
        )


def usable_name(name: str, *, field: str) -> str:
    """As it is stored. Raises InvalidInput for placeholders, generic words and what is no name.

    An alias may also say who somebody is to the speaker: 我的上司, my boss.
    """
    if not is_usable_name(name) and not (field != "name" and is_relation(name)):
        raise InvalidInput(
            "A name stands for one particular thing: no generic word, with a letter in it, and at"
            f" most {NAME_CHARACTERS} characters.",
            field=field,
            detail={"code": "unusable_name"},
        )
    return normalise(name)


def holder_of(
    workspace: Workspace,
    *,
    scope_id: UUID,
    compared: str,
    type: str,
    besides: Collection[UUID],
) -> Entity | None:
    """The entity of this type that has the name or alias, other than these; inside the step."""
    rows = workspace.entities.filter(scope_id=scope_id, type=type, merged_into=None)
    return (
        rows.filter(normalised_names__contains=[compared])
        .exclude(id__in=besides)
        .order_by("id")
        .first()
    )


def require_free(workspace: Workspace, *, entity: Entity, name: str, field: str) -> None:
    """Raises Conflict naming the other entity of this type that has the name or alias."""
    holder = holder_of(
        workspace,
        scope_id=entity.scope_id,
        compared=normalise_name(name),
        type=entity.type,
        besides=[entity.id],
    )
    if holder is not None:
        raise name_taken(holder, field=field)


def name_taken(holder: Entity, *, field: str) -> Conflict:
    return Conflict(
        f"This name belongs to the entity {holder.slug}.",
        field=field,
        detail={"code": "name_taken", "slug": holder.slug},
    )


def compared_names(entity: Entity) -> list[str]:
    """The name and the aliases as they are compared, each once, the name first."""
    return distinct(map(normalise_name, entity.all_names))


def distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def lock_entities(workspace: Workspace, *, ids: Iterable[UUID]) -> dict[UUID, Entity]:
    """For a change of their names or of what they are part of: waits for leaves being written."""
    rows = workspace.entities.select_for_update(of=("self",)).filter(id__in=list(ids))
    return {entity.id: entity for entity in rows.order_by("id")}


def hold_entities(workspace: Workspace, *, ids: Iterable[UUID]) -> dict[UUID, Entity]:
    """For a leaf being written: they keep their names and stay unmerged until it has committed.

    A key-share lock, as the foreign keys take it anyway: leaves of one entity do not wait for
    each other, only for a change of the entity itself. The ORM has no such lock.
    """
    values: dict[str, Any] = {"workspace": workspace.pk, "entities": list(ids)}
    return {entity.id: entity for entity in workspace.entities.raw(HOLD_ENTITIES, values)}


HOLD_ENTITIES = """
SELECT * FROM workspaces_entity
 WHERE workspace_id = %(workspace)s AND id = ANY(%(entities)s::uuid[]) ORDER BY id FOR KEY SHARE
"""
