"""Step 8 of the write path: the entity and the tree that will own a leaf.

Planned before the leaf's file is written (the path holds the slug), made in the leaf's
transaction: a tree exists from its first admitted leaf, not earlier.
"""

from collections.abc import Collection
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
from workspaces.services.entities.names import compared_names, lock_entities, lock_names
from workspaces.services.entities.refresh import request_refresh
from workspaces.services.owner_reads import FALLBACK_SLUG, Owners, read_owners
from workspaces.services.placement import NewEntityPlan, Placement
from workspaces.services.topology import request_rejudge

FALLBACK_NAME = "Uncategorized"


@dataclass(frozen=True, slots=True)
class Owner:
    """Rows that exist, or unsaved ones that the leaf's transaction will make.

    `disputed`: relations that the leaf tells of the new entity and that meant somebody else.
    """

    entity: Entity | None
    tree: Tree
    entity_is_new: bool
    tree_is_new: bool
    disputed: tuple[str, ...] = ()


def plan_owner(workspace: Workspace, *, event: Event, placement: Placement | None) -> Owner:
    """`placement` None is the integration category, where the source lineage owns the leaf."""
    with workspace_scope(workspace, [event.scope_id]):
        if placement is None:
            entity, entity_is_new = None, False
            tree = _integration_tree(workspace, event=event)
        else:
            entity, entity_is_new, tree = _entity(workspace, event=event, placement=placement)
    return Owner(
        entity=entity,
        tree=tree,
        entity_is_new=entity_is_new,
        tree_is_new=tree._state.adding,
        disputed=_disputed(entity, placement=placement) if entity_is_new else (),
    )


def _disputed(entity: Entity | None, *, placement: Placement | None) -> tuple[str, ...]:
    """All relations that the new entity was told to be and does not get."""
    new = placement.new_entity if placement else None
    if new is None or entity is None or entity.aliases:
        return ()
    return tuple(map(normalise_name, new.aliases))


def entity_owner(workspace: Workspace, *, entity: Entity) -> Owner:
    """An entity that exists, with its tree, or the one that it would get. Inside the step."""
    tree = _interaction_tree(workspace, entity=entity)
    return Owner(entity=entity, tree=tree, entity_is_new=False, tree_is_new=tree._state.adding)


def make_owner(owner: Owner) -> None:
    """Insert what is new; a concurrent twin makes this an IntegrityError, and the plan is redone."""
    if owner.entity is not None and owner.entity_is_new:
        _require_new_name(owner.entity)
        if owner.disputed:
            _withdraw(owner.entity, relations=owner.disputed)
        owner.entity.save(force_insert=True)
        if not owner.entity.is_system:
            request_rejudge(owner.entity.workspace, entity=owner.entity)
    if owner.tree_is_new:
        owner.tree.save(force_insert=True)


def _require_new_name(entity: Entity) -> None:
    """What a person named so meanwhile, or gave this alias, is the owner instead."""
    lock_names(entity.scope_id)
    rows = entity.workspace.entities.filter(scope_id=entity.scope_id, is_system=False)
    if rows.filter(normalised_names__overlap=entity.normalised_names).exists():
        raise IntegrityError("an entity of this name was made meanwhile")


def _withdraw(entity: Entity, *, relations: Collection[str]) -> None:
    """My boss is another one now, or one of several: from here on the words alone say nobody."""
    workspace = entity.workspace
    rows = workspace.entities.filter(scope_id=entity.scope_id, is_system=False)
    for holder_id in rows.filter(normalised_names__overlap=list(relations)).values_list(
        "id", flat=True
    ):
        trees = workspace.trees.select_for_update(of=("self",)).filter(entity=holder_id)
        list(trees.order_by("id").values_list("id", flat=True))
        holder = lock_entities(workspace, ids=[holder_id])[holder_id]
        holder.aliases = [a for a in holder.aliases if normalise_name(a) not in relations]
        holder.normalised_names = compared_names(holder)
        holder.save(update_fields=["aliases", "normalised_names"])
        request_refresh(workspace, entities=[holder])


# Raw SQL for what is read for every chunk: the ORM takes longer to build it than it takes to run.
_TREE = """;
SELECT tree.* FROM ({owner}) AS owner JOIN workspaces_tree AS tree
    ON tree.workspace_id = %(workspace)s AND tree.scope_id = %(scope)s
   AND tree.category = %(category)s AND tree.key = 'interaction:' || owner.slug
"""
_TREE = """
SELECT * FROM workspaces_tree
 WHERE workspace_id = %s AND scope_id = %s AND category = %s AND key = %s
"""


def _entity(
    workspace: Workspace, *, event: Event, placement: Placement
) -> tuple[Entity, bool, Tree]:
    """With whether it is new, and its tree, which may be new too."""
    named = [UUID(placement.entity_id)] if placement.entity_id else []
    known = read_owners(workspace, scope_id=event.scope_id, ids=named)
    found = known.present(named[0]) if named else None
    if found is not None and not found.is_nameless:
        return found, False, _tree_of(workspace, entity=found, known=known)
    if placement.new_entity is not None:
        entity, is_new = _named_entity(
            workspace, scope_id=event.scope_id, plan=placement.new_entity
        )
        return entity, is_new, _interaction_tree(workspace, entity=entity)
    if known.fallback is not None:
        return known.fallback, False, _tree_of(workspace, entity=known.fallback, known=known)
    entity = _fallback_entity(workspace, scope_id=event.scope_id)
    return entity, True, _interaction_tree(workspace, entity=entity)


def _tree_of(workspace: Workspace, *, entity: Entity, known: Owners) -> Tree:
    return known.tree_of(entity) or _new_tree(workspace, entity=entity)


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
    aliases = _free_aliases(workspace, scope_id=scope_id, plan=plan)
    entity = Entity(
        id=entity_id,
        workspace=workspace,
        scope_id=scope_id,
        type=plan.type,
        slug=slug,
        name=plan.name,
        normalised_name=compared,
        aliases=aliases,
        normalised_names=[compared, *map(normalise_name, aliases)],
    )
    return entity, True


def _free_aliases(workspace: Workspace, *, scope_id: UUID, plan: NewEntityPlan) -> list[str]:
    """None of them when one means somebody else already: then it says of nobody who is meant."""
    compared = [normalise_name(alias) for alias in plan.aliases]
    rows = workspace.entities.filter(scope_id=scope_id)
    is_taken = bool(compared) and rows.filter(normalised_names__overlap=compared).exists()
    return [] if is_taken else list(plan.aliases)


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
    return known or _new_tree(workspace, entity=entity)


def _new_tree(workspace: Workspace, *, entity: Entity) -> Tree:
    return Tree(
        workspace=workspace,
        scope_id=entity.scope_id,
        category=Category.INTERACTION,
        key=f"interaction:{entity.slug}",
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
