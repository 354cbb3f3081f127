"""A leaf goes to another tree: a new leaf there, the old one inactive; supersession never crosses."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from django.db import IntegrityError

from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, InvalidInput, NotFound
from workspaces.bodies import delete_bodies, read_markdown
from workspaces.models.entities import Entity
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.corrections.changes import Author, Moved, Scopes
from workspaces.services.corrections.correct import removed_on_refusal
from workspaces.services.corrections.leaf_state import (
    count_leaves,
    find_leaf,
    lock_leaf,
    lock_trees,
    refuse_source_owned,
    refuse_unless_active,
)
from workspaces.services.entities.moving import (
    Move,
    active_with_text,
    link_twins,
    settle_moves,
    write_copies,
)
from workspaces.services.entities.names import hold_entities
from workspaces.services.holding import PlanChanged
from workspaces.services.jobs import ClaimedJob, require_lease
from workspaces.services.owners import Owner, make_owner, plan_owner
from workspaces.services.placement import NewEntityPlan, Placement, is_usable_name
from workspaces.services.principals import Principal
from workspaces.services.topology import request_seal

PLAN_TRIES = 3  # two moves may make the same new entity at once


def move_leaf(
    workspace: Workspace,
    *,
    principal: Principal,
    scopes: Scopes,
    leaf_id: UUID,
    entity_slug: str | None = None,
    new_entity: NewEntityPlan | None = None,
) -> Moved:
    """To an entity of the leaf's own scope; a new name that is known already is that entity.

    Raises NotFound for the leaf or the entity, InvalidInput for a new entity that cannot be one,
    Conflict when the leaf is not current, belongs to its source or is in that tree already.
    """
    leaf = find_leaf(workspace, scopes=scopes, leaf_id=leaf_id)
    refuse_source_owned(leaf)
    if (entity_slug is None) == (new_entity is None):
        raise InvalidInput("Name one entity, known or new.", field="entity")
    if new_entity is not None:
        _check_new(new_entity)
    return transfer(
        workspace,
        leaf=leaf,
        plan=lambda: target_owner(workspace, leaf=leaf, slug=entity_slug, new_entity=new_entity),
        author=Author(principal, "leaf.moved"),
    )


def _check_new(new_entity: NewEntityPlan) -> None:
    if new_entity.type not in Entity.Type.values:
        raise InvalidInput("There is no such type of entity.", field="new_entity.type")
    if not is_usable_name(new_entity.name):
        raise InvalidInput("This cannot be the name of an entity.", field="new_entity.name")


def target_owner(
    workspace: Workspace,
    *,
    leaf: SourceLeaf,
    slug: str | None = None,
    new_entity: NewEntityPlan | None = None,
) -> Owner:
    """Rows that exist, or unsaved ones. Raises NotFound for a slug that the scope does not have.

    The slug of a merged entity leads to the one that it became part of.
    """
    entity_id = None
    if slug is not None:
        with workspace_scope(workspace, [leaf.scope_id]):
            rows = workspace.entities.filter(scope_id=leaf.scope_id, slug=slug)
            entity = rows.select_related("merged_into").first()
        if entity is None:
            raise NotFound("There is no such entity.", field="entity")
        entity_id = str(entity.merged_into_id or entity.id)
    return owner_of(workspace, scope_id=leaf.scope_id, entity_id=entity_id, new_entity=new_entity)


def owner_of(
    workspace: Workspace,
    *,
    scope_id: UUID,
    entity_id: str | None,
    new_entity: NewEntityPlan | None = None,
) -> Owner:
    """The owner of what is moved by hand: no judge had a say. Raises NotFound."""
    placement = Placement(
        decision=Chunk.Decision.MATCH_EXISTING,
        entity_id=entity_id,
        new_entity=new_entity,
        match_confidence=0.0,
        create_confidence=0.0,
        secondary_ids=(),
        title="",
        summary="",
        labels=(),
        subject_key="",
    )
    owner = plan_owner(
        workspace, event=Event(workspace=workspace, scope_id=scope_id), placement=placement
    )
    if entity_id is not None and (owner.entity is None or str(owner.entity.id) != entity_id):
        raise NotFound("There is no such entity.", field="entity")
    return owner


def transfer(
    workspace: Workspace,
    *,
    leaf: SourceLeaf,
    plan: Callable[[], Owner],
    author: Author,
    job: ClaimedJob | None = None,
) -> Moved:
    """`plan` is asked again when another writer made the same entity or tree first.

    With `job` its lease is checked in the transaction that commits.
    """
    with workspace_scope(workspace, [leaf.scope_id]):
        refuse_unless_active(workspace, leaf=leaf)
    text = read_markdown(leaf.body_path, sha256=leaf.body_sha256)
    for _ in range(PLAN_TRIES):
        owner = plan()
        if owner.tree.id == leaf.tree_id:
            raise Conflict("This leaf is in that tree already.", detail={"code": "same_tree"})
        [move] = write_copies(workspace, leaves=[(leaf, text)], owner=owner)
        try:
            return _commit(workspace, move=move, owner=owner, author=author, job=job)
        except PlanChanged:
            continue
        except IntegrityError:
            # An undo that came second fails the same way each time; its caller tells them apart.
            if author.undoes is not None:
                raise
    raise Conflict("The tree kept changing while this leaf was being moved.")


def _commit(
    workspace: Workspace, *, move: Move, owner: Owner, author: Author, job: ClaimedJob | None
) -> Moved:
    old, new = move.old, move.new
    with removed_on_refusal(new.body_path), workspace_scope(workspace, [old.scope_id]):
        make_owner(owner)
        trees = lock_trees(workspace, tree_ids=[old.tree_id, new.tree_id])
        _hold_owner(workspace, owner=owner)
        current = lock_leaf(workspace, leaf_id=old.id)
        refuse_unless_active(workspace, leaf=current)
        if job is not None:
            require_lease(job)
        twin_id = _settle(workspace, move=move, current=current)
        for tree in trees.values():
            request_seal(workspace, tree=tree)
        held_by = twin_id or new.id
        audit_id = author.record(
            workspace,
            scope_id=old.scope_id,
            target_id=held_by,
            detail={
                "moved_from": str(old.id),
                "from_tree": trees[old.tree_id].key,
                "to_tree": trees[new.tree_id].key,
                "linked": twin_id is not None,
            },
        )
    if twin_id is not None:
        delete_bodies([new.body_path])
    return Moved(
        leaf_id=held_by,
        moved_from=old.id,
        tree_key=trees[new.tree_id].key,
        audit_id=audit_id,
        is_linked=twin_id is not None,
    )


def _hold_owner(workspace: Workspace, *, owner: Owner) -> None:
    """Nobody renames or merges it until the commit; raises PlanChanged when somebody did."""
    planned = owner.entity
    if planned is None:
        return
    held = hold_entities(workspace, ids=[planned.id])[planned.id]
    if held.merged_into_id is not None or held.name != planned.name:
        raise PlanChanged


def _settle(workspace: Workspace, *, move: Move, current: SourceLeaf) -> UUID | None:
    """The leaf of the other tree that had the text already, if one did. Trees are locked."""
    old, new = move.old, move.new
    texts = [new.fingerprint]
    twin_id = active_with_text(workspace, tree_id=new.tree_id, fingerprints=texts).get(
        new.fingerprint
    )
    if twin_id is None:
        settle_moves(workspace, moves=[replace(move, old=current)])
        count_leaves(workspace, tree_id=new.tree_id, added=1)
    else:
        link_twins(workspace, leaves=[current], tree_id=new.tree_id)
    count_leaves(workspace, tree_id=old.tree_id, added=-1)
    return twin_id
