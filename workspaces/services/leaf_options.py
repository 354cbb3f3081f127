"""What a person may do to a leaf as it is now.

The changes themselves check again: this only decides which forms are worth showing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from workspaces.models.log import Category
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import GONE_LEAVES, SourceLeaf
from workspaces.services.entity_view import EntityChoice, entity_choices

Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class LeafOptions:
    """`choices` are entities of the leaf's own scope; empty where it cannot be moved."""

    scope_id: UUID
    can_correct: bool
    can_move: bool
    can_forget: bool
    can_restore: bool
    can_erase: bool
    choices: list[EntityChoice]


def leaf_options(workspace: Workspace, *, scopes: Scopes, leaf_id: UUID) -> LeafOptions:
    """Raises NotFound."""
    with workspace_scope(workspace, scopes):
        leaf = workspace.leaves.filter(id=leaf_id).first()
        if leaf is None:
            raise NotFound("There is no such leaf.")
        was_moved = workspace.leaves.filter(moved_from_leaf=leaf.id).exists()
    is_active = leaf.status == SourceLeaf.Status.ACTIVE
    can_move = is_active and leaf.category == Category.INTERACTION
    return LeafOptions(
        scope_id=leaf.scope_id,
        can_correct=is_active and leaf.category == Category.INTERACTION,
        can_move=can_move,
        can_forget=leaf.status in (SourceLeaf.Status.ACTIVE, SourceLeaf.Status.SUPERSEDED),
        can_restore=_is_forgotten(leaf) and not was_moved,
        can_erase=leaf.status not in GONE_LEAVES,
        choices=entity_choices(workspace, scope_id=leaf.scope_id, without=leaf.entity_id)
        if can_move
        else [],
    )


def _is_forgotten(leaf: SourceLeaf) -> bool:
    return leaf.forgotten_at is not None and leaf.status == SourceLeaf.Status.INACTIVE
