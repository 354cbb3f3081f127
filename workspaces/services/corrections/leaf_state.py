"""Finding and locking the leaf that a person changes, and why it may not be changed.

Locks are taken in this order: trees by id, the leaf, jobs.
"""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import F

from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, NotFound
from workspaces.models.log import Category
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import GONE_LEAVES, SourceLeaf, Tree
from workspaces.services.corrections.changes import Scopes

MAX_CHAIN = 1_000  # links that are followed to the newest version of a subject


def find_leaf(workspace: Workspace, *, scopes: Scopes, leaf_id: UUID) -> SourceLeaf:
    """With its tree, owner and chunk. Raises NotFound, also for one that is erased."""
    with workspace_scope(workspace, scopes):
        rows = workspace.leaves.select_related("tree", "entity", "chunk__event")
        leaf = rows.filter(id=leaf_id).exclude(status__in=GONE_LEAVES).first()
    if leaf is None:
        raise NotFound("There is no such leaf.")
    return leaf


def is_erased(workspace: Workspace, *, scopes: Scopes, leaf_id: UUID) -> bool:
    """Whether the leaf was there for these readers, and is going or gone for good."""
    with workspace_scope(workspace, scopes):
        return workspace.leaves.filter(id=leaf_id, status__in=GONE_LEAVES).exists()


def lock_trees(workspace: Workspace, *, tree_ids: Iterable[UUID]) -> dict[UUID, Tree]:
    rows = workspace.trees.select_for_update().filter(id__in=set(tree_ids))
    return {tree.id: tree for tree in rows.order_by("id")}


def lock_leaf(workspace: Workspace, *, leaf_id: UUID) -> SourceLeaf:
    """Raises NotFound when its erasure began meanwhile."""
    rows = workspace.leaves.select_for_update().exclude(status__in=GONE_LEAVES)
    leaf = rows.filter(id=leaf_id).first()
    if leaf is None:
        raise NotFound("There is no such leaf.")
    return leaf


def refuse_source_owned(leaf: SourceLeaf) -> None:
    if leaf.category == Category.INTEGRATION:
        raise Conflict(
            "This leaf belongs to its source: change it there, or forget it here.",
            detail={"code": "owned_by_source"},
        )


def refuse_unless_active(workspace: Workspace, *, leaf: SourceLeaf) -> None:
    """Inside the caller's step. The Conflict says what became of the leaf."""
    if leaf.status == SourceLeaf.Status.ACTIVE:
        return
    if leaf.forgotten_at is not None:
        raise Conflict(
            "This leaf was forgotten; restore it first.", detail={"code": "leaf_forgotten"}
        )
    if leaf.status == SourceLeaf.Status.SUPERSEDED:
        head = newest_version(workspace, leaf=leaf)
        raise Conflict(
            f"This leaf was superseded; the current one is {head}.",
            detail={"code": "leaf_superseded", "leaf_id": str(head)},
        )
    refuse_moved(workspace, leaf=leaf)
    raise Conflict("This leaf is not active.", detail={"code": "leaf_inactive"})


def refuse_moved(workspace: Workspace, *, leaf: SourceLeaf) -> None:
    moved_to = workspace.leaves.filter(moved_from_leaf=leaf.id).order_by("-id").first()
    if moved_to is not None:
        raise Conflict(
            f"This leaf was moved; it is {moved_to.id} now.",
            detail={"code": "leaf_moved", "leaf_id": str(moved_to.id)},
        )


def newest_version(workspace: Workspace, *, leaf: SourceLeaf) -> UUID:
    """The end of the chain of successors that begins here."""
    current, link = leaf.id, leaf.superseded_by_id
    for _ in range(MAX_CHAIN):
        if link is None:
            break
        current = link
        link = (
            workspace.leaves.filter(id=current).values_list("superseded_by_id", flat=True).first()
        )
    return current


def refuse_same_text(workspace: Workspace, *, tree_id: UUID, fingerprint: str) -> None:
    """A tree holds a text once; inside the caller's step, with the tree locked."""
    twin = workspace.leaves.filter(
        tree_id=tree_id, fingerprint=fingerprint, status=SourceLeaf.Status.ACTIVE
    ).first()
    if twin is not None:
        raise Conflict(
            f"The leaf {twin.id} of this tree says the same already.",
            field="text",
            detail={"code": "same_text", "leaf_id": str(twin.id)},
        )


def count_leaves(workspace: Workspace, *, tree_id: UUID, added: int) -> None:
    """By difference; a tree without active leaves is empty, and drops out of the lists."""
    tree = workspace.trees.filter(id=tree_id)
    tree.update(leaf_count=F("leaf_count") + added, status=Tree.Status.ACTIVE, updated_at=now())
    tree.filter(leaf_count=0).update(status=Tree.Status.EMPTY)
