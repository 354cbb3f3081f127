"""Merging two entities: the decision at once, the leaves in batches afterwards.

From the moment the call returns, every new memory of the one lands with the other. The merged
entity is kept, without names: its slug still resolves, and an undo finds everything.
"""

from collections.abc import Sequence
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, InvalidInput, NotFound
from holamem.ids import new_id
from holamem.text.normalise import normalise_name
from workspaces import access
from workspaces.models.entities import Entity
from workspaces.models.jobs import Job
from workspaces.models.merges import EntityMerge
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.audit import record
from workspaces.services.entities.changes import EntityChanged
from workspaces.services.entities.names import (
    compared_names,
    distinct,
    holder_of,
    lock_entities,
    lock_names,
)
from workspaces.services.entities.refresh import request_mirror, request_refresh
from workspaces.services.jobs import add_job
from workspaces.services.principals import Principal

Scopes = Sequence[UUID] | str | None
IN_FORCE = (EntityMerge.State.MOVING, EntityMerge.State.DONE)


def merge_entities(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, slug: str, into: str
) -> EntityChanged:
    """Make one entity part of another of the same scope.

    A target that was merged itself stands for what it became part of; the same merge asked for
    again is the same answer. Raises NotFound, InvalidInput for a target that there is not, and
    Conflict for what cannot be merged.
    """
    named = access.get_entity(workspace, scopes=scopes, slug=slug)
    wanted = _named_target(workspace, scope_id=named.scope_id, slug=into)
    with workspace_scope(workspace, [named.scope_id]):
        lock_names(named.scope_id)
        source, target = _held(workspace, source_id=named.id, target_id=wanted.id)
        known = _same_merge(workspace, source=source, target=target)
        if known is not None:
            return EntityChanged(slug, known.audit_id)
        _refuse(workspace, source=source, target=target)
        merge = _begin(workspace, source=source, target=target, principal=principal)
    return EntityChanged(slug, merge.audit_id)


def request_moves(workspace: Workspace, *, merge: EntityMerge) -> None:
    """Queue the work on a merge or on its undo; inside the caller's step."""
    add_job(
        workspace,
        topic=Job.Topic.ENTITY_MERGE,
        target_id=merge.id,
        scope_id=merge.scope_id,
        priority=90,
    )


def reopen_merge_of(workspace: Workspace, *, entity_id: UUID) -> None:
    """Leaves came back to an entity that is merged: they follow the others. Inside the step."""
    merges = workspace.merges.filter(source=entity_id, state=EntityMerge.State.DONE)
    for merge in merges.select_for_update(of=("self",)):
        merge.state, merge.finished_at = EntityMerge.State.MOVING, None
        merge.save(update_fields=["state", "finished_at"])
        request_moves(workspace, merge=merge)
    for merge in workspace.merges.filter(source=entity_id, state=EntityMerge.State.MOVING):
        request_moves(workspace, merge=merge)


def point_to_present(workspace: Workspace, *, scope_id: UUID) -> None:
    """Every merged entity names the live one at the end of its chain of merges in force."""
    rows = workspace.merges.filter(scope_id=scope_id, state__in=IN_FORCE)
    became = dict(rows.values_list("source_id", "target_id"))
    for source_id in became:
        target_id = became[source_id]
        while target_id in became:
            target_id = became[target_id]
        others = workspace.entities.filter(id=source_id).exclude(
            merged_into__isnull=False, merged_into=target_id
        )
        if others.update(merged_into=target_id):
            request_mirror(workspace, entity_ids=[source_id])


def _named_target(workspace: Workspace, *, scope_id: UUID, slug: str) -> Entity:
    try:
        return access.get_entity(workspace, scopes=[scope_id], slug=slug)
    except NotFound as error:
        raise InvalidInput(
            "There is no such entity.", field="into", detail={"code": "unknown_entity"}
        ) from error


def _held(workspace: Workspace, *, source_id: UUID, target_id: UUID) -> tuple[Entity, Entity]:
    """Both locked, the target as what it is today. Names of the scope are held already."""
    target = workspace.entities.get(id=target_id)
    final_id = target.merged_into_id or target.id
    held = lock_entities(workspace, ids={source_id, final_id})
    return held[source_id], held[final_id]


def _same_merge(workspace: Workspace, *, source: Entity, target: Entity) -> EntityMerge | None:
    if source.merged_into_id != target.id:
        return None
    return workspace.merges.filter(source=source, state__in=IN_FORCE).first()


def _refuse(workspace: Workspace, *, source: Entity, target: Entity) -> None:
    if source.is_system or target.is_system:
        raise Conflict("An entity of the system is never merged.", detail={"code": "system_entity"})
    if source.id == target.id:
        raise Conflict(
            "An entity cannot be merged into itself, nor into what was merged into it.",
            field="into",
            detail={"code": "same_entity"},
        )
    if source.merged_into is not None:
        raise Conflict(
            f"This entity was merged into {source.merged_into.slug}.",
            detail={"code": "merged", "slug": source.merged_into.slug},
        )
    undoing = workspace.merges.filter(state=EntityMerge.State.UNDOING)
    if (undoing.filter(source=source) | undoing.filter(target=source)).exists():
        raise Conflict(
            "An earlier merge is still being undone; try again when it is.",
            detail={"code": "undo_running"},
        )


def _begin(
    workspace: Workspace, *, source: Entity, target: Entity, principal: Principal
) -> EntityMerge:
    added = _give_names(workspace, source=source, target=target)
    merge_id = new_id()
    audit_id = record(
        workspace,
        principal=principal,
        action="entity.merged",
        target_id=source.id,
        detail={
            "merge_id": str(merge_id),
            "slug": source.slug,
            "name": source.name,
            "into": target.slug,
            "into_name": target.name,
        },
        scope_id=source.scope_id,
    )
    merge = workspace.merges.create(
        id=merge_id,
        scope_id=source.scope_id,
        source=source,
        target=target,
        audit_id=audit_id,
        names_added=added,
        leaves_total=_active_leaves(workspace, entity=source),
    )
    point_to_present(workspace, scope_id=source.scope_id)
    request_refresh(workspace, entities=[target])
    request_moves(workspace, merge=merge)
    return merge


def _give_names(workspace: Workspace, *, source: Entity, target: Entity) -> list[str]:
    """The source's names lead to the target from now on, but for those that a third one has.

    Returns those that the target did not have.
    """
    added = []
    for name in source.all_names:
        compared = normalise_name(name)
        if compared in compared_names(target) or holder_of(
            workspace,
            scope_id=target.scope_id,
            compared=compared,
            type=target.type,
            besides=[source.id, target.id],
        ):
            continue
        added.append(name)
        target.aliases = [*target.aliases, name]
    target.normalised_names = compared_names(target)
    target.save(update_fields=["aliases", "normalised_names"])
    source.normalised_names = []
    source.save(update_fields=["normalised_names"])
    return distinct(added)


def _active_leaves(workspace: Workspace, *, entity: Entity) -> int:
    return workspace.leaves.filter(entity=entity, status=SourceLeaf.Status.ACTIVE).count()
