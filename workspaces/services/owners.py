"""Step 8 of the write path: the entity and the tree that will own a leaf.

Planned before the leaf's file is written (the path holds the slug), made in the leaf's
transaction: a tree exists from its first admitted leaf, not earlier.
"""

from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError

from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from holamem.text.normalise import normalise_name
from holamem.text.slugs import slugify
from workspaces.models.entities import Entity
from workspaces.models.log import Category, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import Tree
from workspaces.services.entities.names import lock_names
from workspaces.services.placement import NewEntityPlan, Placement
from workspaces.services.topology import request_rejudge

FALLBACK_SLUG = "uncategorized"
FALLBACK_NAME = "Uncategorized"


@dataclass(frozen=True, slots=True)
class Owner:
    """Rows that exist, or unsaved ones that the leaf's transaction will make."""

    entity: Entity | None
    tree: Tree
    entity_is_new: bool
    tree_is_new: bool


def plan_owner(workspace: Workspace, *, event: Event, placement: Placement | None) -> Owner:
    """`placement` None is the integration category, where the source lineage owns the leaf."""
    with workspace_scope(workspace, [event.scope_id]):
        if placement is None:
            entity, entity_is_new = None, False
            tree = _integration_tree(workspace, event=event)
        else:
            entity, entity_is_new = _entity(workspace, event=event, placement=placement)
            tree = _interaction_tree(workspace, entity=entity)
    return Owner(
        entity=entity,
        tree=tree,
        entity_is_new=entity_is_new,
        tree_is_new=tree._state.adding,
    )


def entity_owner(workspace: Workspace, *, entity: Entity) -> Owner:
    """An entity that exists, with its tree, or the one that it would get. Inside the step."""
    tree = _interaction_tree(workspace, entity=entity)
    return Owner(entity=entity, tree=tree, entity_is_new=False, tree_is_new=tree._state.adding)


def make_owner(owner: Owner) -> None:
    """Insert what is new; a concurrent twin makes this an IntegrityError, and the plan is redone."""
    if owner.entity is not None and owner.entity_is_new:
        _require_new_name(owner.entity)
        owner.entity.save(force_insert=True)
        if not owner.entity.is_system:
            request_rejudge(owner.entity.workspace, entity=owner.entity)
    if owner.tree_is_new:
        owner.tree.save(force_insert=True)


def _require_new_name(entity: Entity) -> None:
    """What a person named so meanwhile, or gave this alias, is the owner instead."""
    lock_names(entity.scope_id)
    rows = entity.workspace.entities.filter(scope_id=entity.scope_id, is_system=False)
    if rows.filter(normalised_names__contains=[entity.normalised_name]).exists():
        raise IntegrityError("an entity of this name was made meanwhile")


# Raw SQL for what is read for every chunk: the ORM takes longer to build it than it takes to run.
# The entity, or what it was merged into.
_PRESENT = """
SELECT owner.* FROM workspaces_entity AS named
  JOIN workspaces_entity AS owner ON owner.workspace_id = named.workspace_id
   AND owner.id = coalesce(named.merged_into_id, named.id)
 WHERE named.workspace_id = %s AND named.scope_id = %s AND named.id = %s
"""
_FALLBACK = """
SELECT * FROM workspaces_entity
 WHERE workspace_id = %s AND scope_id = %s AND slug = %s AND is_system
"""
_TREE = """
SELECT * FROM workspaces_tree
 WHERE workspace_id = %s AND scope_id = %s AND category = %s AND key = %s
"""


def _entity(workspace: Workspace, *, event: Event, placement: Placement) -> tuple[Entity, bool]:
    if placement.entity_id is not None:
        values = [workspace.pk, event.scope_id, placement.entity_id]
        owner = next(iter(workspace.entities.raw(_PRESENT, values)), None)
        if owner is not None and not owner.is_nameless:
            return owner, False
    if placement.new_entity is not None:
        return _named_entity(workspace, scope_id=event.scope_id, plan=placement.new_entity)
    values = [workspace.pk, event.scope_id, FALLBACK_SLUG]
    fallback = next(iter(workspace.entities.raw(_FALLBACK, values)), None)
    if fallback is not None:
        return fallback, False
    return _fallback_entity(workspace, scope_id=event.scope_id), True


def _named_entity(
    workspace: Workspace, *, scope_id: UUID, plan: NewEntityPlan
) -> tuple[Entity, bool]:
    """The entity with this name or alias, whatever its type, else an unsaved one."""
    compared = normalise_name(plan.name)
    rows = workspace.entities.filter(scope_id=scope_id)
    known = (
        rows.filter(normalised_names__contains=[compared], is_system=False).order_by("id").first()
    )
    if known is not None:
        return known, False
    entity_id = new_id()
    slug = slugify(plan.name)
    if rows.filter(slug=slug).exists() or slug == FALLBACK_SLUG:
        slug = f"{slug}-{entity_id.hex[-6:]}"
    entity = Entity(
        id=entity_id,
        workspace=workspace,
        scope_id=scope_id,
        type=plan.type,
        slug=slug,
        name=plan.name,
        normalised_name=compared,
        normalised_names=[compared],
    )
    return entity, True


def _fallback_entity(workspace: Workspace, *, scope_id: UUID) -> Entity:
    return Entity(
        workspace=workspace,
        scope_id=scope_id,
        type=Entity.Type.TOPIC,
        slug=FALLBACK_SLUG,
        name=FALLBACK_NAME,
        normalised_name=normalise_name(FALLBACK_NAME),
        normalised_names=[],
        is_system=True,
    )


def _interaction_tree(workspace: Workspace, *, entity: Entity) -> Tree:
    key = f"interaction:{entity.slug}"
    values = [workspace.pk, entity.scope_id, str(Category.INTERACTION), key]
    known = next(iter(workspace.trees.raw(_TREE, values)), None)
    return known or Tree(
        workspace=workspace,
        scope_id=entity.scope_id,
        category=Category.INTERACTION,
        key=key,
        title=entity.name,
        entity=entity,
    )


def _integration_tree(workspace: Workspace, *, event: Event) -> Tree:
    key = f"{event.provider}:{event.account}"
    values = [workspace.pk, event.scope_id, str(Category.INTEGRATION), key]
    known = next(iter(workspace.trees.raw(_TREE, values)), None)
    return known or Tree(
        workspace=workspace,
        scope_id=event.scope_id,
        category=Category.INTEGRATION,
        key=key,
        title=key,
        provider=event.provider,
        account=event.account,
    )
