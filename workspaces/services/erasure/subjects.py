"""What is left of a subject when all that was known of it is erased: a row without a name.

An entity came from memory, so its name may be the very thing that had to go. When no leaf that
is not erased belongs to it or mentions it, its name, aliases and description go, and with them
the slug, the tree's key and title, and the folder, which were made from the name. The fallback
bucket has no name of its own and stays. A later statement about the subject makes a new entity.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from holamem.clock import now
from holamem.database.scope import eraser_scope
from holamem.text.normalise import normalise_name
from workspaces.bodies import delete_bodies
from workspaces.body_paths import leaf_path, retired_path, scope_directory, summary_path
from workspaces.models.entities import Entity
from workspaces.models.log import Category
from workspaces.models.merges import EntityMerge
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import GONE_LEAVES, LeafEntity, RetiredBody, SummaryNode, Tree
from workspaces.services.erasure.files import remove_empty_folders
from workspaces.services.rebuild.sidecar import sidecar_path


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many entities lost their names, and the folders that still have them."""

    count: int
    folders: list[str]


def unlink(workspace: Workspace, *, leaf_ids: Sequence[UUID]) -> tuple[int, set[UUID]]:
    """Drop the links of erased leaves. How many, and the entities that may have nothing left."""
    links = workspace.leaf_entities.filter(leaf__in=leaf_ids)
    named = set(links.values_list("entity_id", flat=True))
    owners = workspace.leaves.filter(id__in=leaf_ids, entity__isnull=False)
    named |= set(owners.values_list("entity_id", flat=True))
    with eraser_scope():
        removed, _ = LeafEntity.objects.filter(workspace=workspace, leaf__in=leaf_ids).delete()
    return removed, named


def subjects_of(workspace: Workspace, *, scope_id: UUID) -> set[UUID]:
    """Inside the caller's step."""
    return set(workspace.entities.filter(scope_id=scope_id).values_list("id", flat=True))


def forget_names(
    workspace: Workspace, *, entity_ids: Iterable[UUID], is_gone: bool = False
) -> Forgotten:
    """Those of the entities that nothing speaks of any more; inside the caller's step.

    `is_gone`: the whole memory that they belong to is, whatever still refers to them.
    """
    count, folders = 0, []
    for entity_id in sorted(entity_ids):
        trees = workspace.trees.select_for_update().filter(entity=entity_id)
        held = list(trees.order_by("id"))
        rows = workspace.entities.select_for_update().filter(id=entity_id, is_system=False)
        entity = rows.first()
        if entity is not None and (is_gone or not _is_spoken_of(workspace, entity=entity)):
            folders += [_forget_tree(workspace, tree=tree, entity=entity) for tree in held]
            _forget_entity(workspace, entity=entity)
            count += 1
    return Forgotten(count, folders)


def _is_spoken_of(workspace: Workspace, *, entity: Entity) -> bool:
    """By a leaf of its own or by a mention, of whatever status short of erased."""
    present = workspace.leaves.exclude(status__in=GONE_LEAVES)
    spoken = present.filter(Q(entity=entity) | Q(secondary_links__entity=entity))
    return (
        spoken.exists()
        or workspace.merges.filter(
            target=entity, state__in=[EntityMerge.State.MOVING, EntityMerge.State.UNDOING]
        ).exists()
    )


def _forget_tree(workspace: Workspace, *, tree: Tree, entity: Entity) -> str:
    """New key, title and paths, all without the name; the files are gone already."""
    folder = scope_directory(workspace, tree=tree)
    tree.key = f"{Category.INTERACTION}:{entity.erased_name}"
    tree.title = entity.erased_name
    tree.mirrored_state = ""
    tree.save(update_fields=["key", "title", "mirrored_state"])
    directory = scope_directory(workspace, tree=tree)
    with eraser_scope():
        for leaf in workspace.leaves.filter(tree=tree).only("id"):
            path = leaf_path(directory, leaf_id=leaf.id)
            workspace.leaves.filter(id=leaf.id).update(body_path=path)
        for node in workspace.summaries.filter(tree=tree).only("id", "status", "level"):
            path = _summary_place(node, directory=directory)
            workspace.summaries.filter(id=node.id).update(body_path=path)
        workspace.retired_bodies.filter(path__startswith=f"{folder}/").delete()
    # Should the worker die before it removes the old mirror, housekeeping does.
    RetiredBody.objects.create(
        workspace=workspace, scope_id=tree.scope_id, path=sidecar_path(folder), expires_at=now()
    )
    return folder


def remove_folders(workspace: Workspace, *, folders: Sequence[str]) -> None:
    """After the commit that forgot their names: the mirrors in them, and they themselves."""
    for folder in folders:
        delete_bodies([sidecar_path(folder)])
        remove_empty_folders([folder])
        with eraser_scope():
            workspace.retired_bodies.filter(path=sidecar_path(folder)).delete()


def _summary_place(node: SummaryNode, *, directory: str) -> str:
    if node.status == SummaryNode.Status.RETIRED:
        return retired_path(directory, summary_id=node.id)
    return summary_path(directory, level=node.level, summary_id=node.id)


def _forget_entity(workspace: Workspace, *, entity: Entity) -> None:
    _redact_audit(workspace, entity=entity)
    names = [entity.name, *entity.aliases]
    merges = workspace.merges.filter(source=entity)
    for merge in merges.select_related("target"):
        names += merge.names_added
        _take_back_names(merge.target, names=merge.names_added)
    merges.update(names_added=[])
    name = entity.erased_name
    entity.slug = entity.name = name
    entity.aliases, entity.description = [], ""
    entity.normalised_name = normalise_name(name)
    entity.normalised_names = [] if entity.merged_into_id else [entity.normalised_name]
    entity.save()


def _take_back_names(target: Entity, *, names: Sequence[str]) -> None:
    """What a merge gave to an entity that lives on came from the erased one alone."""
    compared = set(map(normalise_name, names))
    kept = [alias for alias in target.aliases if normalise_name(alias) not in compared]
    if kept != target.aliases:
        target.aliases = kept
        target.normalised_names = [
            known for known in target.normalised_names if known not in compared
        ] or [target.normalised_name]
        target.save(update_fields=["aliases", "normalised_names"])


def _redact_audit(workspace: Workspace, *, entity: Entity) -> None:
    """Entries stay, with what was done and by whom; the names in them go."""
    about = Q(target=str(entity.id)) | Q(words__contains=entity.slug)
    with eraser_scope():
        rows = workspace.audit_entries.annotate(words=Cast("detail", TextField())).filter(about)
        for row in rows:
            is_own = row.target == str(entity.id)
            detail = {
                key: _without_name(value, entity=entity, is_own=is_own)
                for key, value in row.detail.items()
            }
            workspace.audit_entries.filter(id=row.id).update(detail=detail)


def _without_name(value: Any, *, entity: Entity, is_own: bool) -> Any:
    """In the entity's own entries every string may be a former name; ids are no names."""
    if isinstance(value, Mapping):
        return {k: _without_name(v, entity=entity, is_own=is_own) for k, v in value.items()}
    if isinstance(value, list):
        return [_without_name(item, entity=entity, is_own=is_own) for item in value]
    if not isinstance(value, str) or _is_id(value):
        return value
    if is_own or value in (entity.name, *entity.aliases):
        return entity.erased_name
    return value.replace(entity.slug, entity.erased_name)


def _is_id(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return True
