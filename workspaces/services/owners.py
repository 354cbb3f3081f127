"""Step 8 of the write path: the entity and the tree that will own a leaf.

Planned before the leaf's file is written (the path holds the slug), made in the leaf's
transaction: a tree exists from its first admitted leaf, not earlier.
"""

from dataclasses import dataclass
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from holamem.text.normalise import normalise_name
from holamem.text.slugs import slugify
from workspaces.models.entities import Entity
from workspaces.models.log import Category, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import Tree
from workspaces.services.placement import NewEntityPlan, Placement

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


def make_owner(owner: Owner) -> None:
    """Insert what is new; a concurrent twin makes this an IntegrityError, and the plan is redone."""
    if owner.entity is not None and owner.entity_is_new:
        owner.entity.save(force_insert=True)
    if owner.tree_is_new:
        owner.tree.save(force_insert=True)


def _entity(workspace: Workspace, *, event: Event, placement: Placement) -> tuple[Entity, bool]:
    rows = workspace.entities.filter(scope_id=event.scope_id)
    if placement.entity_id is not None:
        known = rows.filter(id=placement.entity_id).first()
        if known is not None:
            return known, False
    if placement.new_entity is not None:
        return _named_entity(workspace, scope_id=event.scope_id, plan=placement.new_entity)
    fallback = rows.filter(slug=FALLBACK_SLUG, is_system=True).first()
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
    known = workspace.trees.filter(
        scope_id=entity.scope_id, category=Category.INTERACTION, key=key
    ).first()
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
    known = workspace.trees.filter(
        scope_id=event.scope_id, category=Category.INTEGRATION, key=key
    ).first()
    return known or Tree(
        workspace=workspace,
        scope_id=event.scope_id,
        category=Category.INTEGRATION,
        key=key,
        title=key,
        provider=event.provider,
        account=event.account,
    )
