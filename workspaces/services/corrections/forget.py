"""Taking a leaf out of memory, and back in: nothing of it is read in between.

Its event and its body stay until retention or erasure removes them. Places that hold the same
words and are not current go with it: where it was moved from, and older versions that said it.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError

from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, StorageRefused
from workspaces.bodies import read_markdown
from workspaces.index.entries import drop_entries
from workspaces.models.log import Category
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree
from workspaces.services.corrections.changes import Author, Changed, Scopes
from workspaces.services.corrections.leaf_state import (
    count_leaves,
    find_leaf,
    lock_leaf,
    lock_trees,
    refuse_moved,
    refuse_same_text,
)
from workspaces.services.corrections.returning import make_findable
from workspaces.services.principals import Principal
from workspaces.services.rebuild.sidecar import mirror_tree
from workspaces.services.settling import refuse_unsaid
from workspaces.services.topology import quarantine_covering, request_seal

logger = logging.getLogger(__name__)

READABLE = (SourceLeaf.Status.ACTIVE, SourceLeaf.Status.SUPERSEDED)
NOT_CURRENT = (SourceLeaf.Status.SUPERSEDED, SourceLeaf.Status.INACTIVE)


def forget_leaf(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, leaf_id: UUID
) -> Changed:
    """An active leaf, or an old version that is still history. Raises NotFound, Conflict."""
    leaf = find_leaf(workspace, scopes=scopes, leaf_id=leaf_id)
    return take_out(workspace, leaf=leaf, author=Author(principal, "leaf.forgotten"))


def restore_leaf(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, leaf_id: UUID
) -> Changed:
    """A forgotten leaf becomes what it was. Raises NotFound; Conflict when it was not forgotten,
    or when its tree holds the text, or its source a newer one, meanwhile.
    """
    leaf = find_leaf(workspace, scopes=scopes, leaf_id=leaf_id)
    return put_back(workspace, leaf=leaf, author=Author(principal, "leaf.restored"))


def take_out(workspace: Workspace, *, leaf: SourceLeaf, author: Author) -> Changed:
    with workspace_scope(workspace, [leaf.scope_id]):
        places = [leaf, *_same_words(workspace, leaf=leaf)]
        trees = lock_trees(workspace, tree_ids=[row.tree_id for row in places])
        current = lock_leaf(workspace, leaf_id=leaf.id)
        _refuse_forgetting(workspace, leaf=current)
        _mark(workspace, leaf_id=leaf.id, place_ids=[row.id for row in places])
        for tree in trees.values():
            ids = [row.id for row in places if row.tree_id == tree.id]
            quarantine_covering(workspace, tree_id=tree.id, leaf_ids=ids)
            request_seal(workspace, tree=tree)
        if current.status == SourceLeaf.Status.ACTIVE:
            count_leaves(workspace, tree_id=current.tree_id, added=-1)
        faults.point("forget.before_commit")
        audit_id = _record(workspace, leaf=current, tree=trees[leaf.tree_id], author=author)
    _mirror(workspace, trees=trees.values())
    return Changed(leaf_id=leaf.id, audit_id=audit_id)


def _mirror(workspace: Workspace, *, trees: Iterable[Tree]) -> None:
    """Before the answer: memory that is rebuilt from its files does not hold what was forgotten.

    The change is committed already, so that nothing here refuses it; the pass over the tree
    mirrors what was not.
    """
    for tree in trees:
        try:
            mirror_tree(workspace, tree_id=tree.id, scope_id=tree.scope_id)
        except (OSError, StorageRefused, DatabaseError):
            logger.warning("forget.not_mirrored_yet", extra={"tree_id": str(tree.id)})


def put_back(workspace: Workspace, *, leaf: SourceLeaf, author: Author) -> Changed:
    """The texts are read before the transaction; their vectors are made after it."""
    with workspace_scope(workspace, [leaf.scope_id]):
        _refuse_restoring(workspace, leaf=leaf)
        places = _forgotten_with(workspace, leaf=leaf)
    faults.point("restore.before_step")
    texts = {row.id: read_markdown(row.body_path, sha256=row.body_sha256) for row in places}
    with workspace_scope(workspace, [leaf.scope_id]):
        trees = lock_trees(workspace, tree_ids=[row.tree_id for row in places])
        current = lock_leaf(workspace, leaf_id=leaf.id)
        _refuse_restoring(workspace, leaf=current)
        if current.forgotten_at != leaf.forgotten_at:
            raise Conflict("This leaf changed while it was being restored.")
        _unmark(workspace, leaf=current, texts=texts)
        if current.superseded_by_id is None:
            count_leaves(workspace, tree_id=leaf.tree_id, added=1)
        for tree in trees.values():
            request_seal(workspace, tree=tree)
        audit_id = _record(workspace, leaf=current, tree=trees[leaf.tree_id], author=author)
    return Changed(leaf_id=leaf.id, audit_id=audit_id)


def _record(workspace: Workspace, *, leaf: SourceLeaf, tree: Tree, author: Author) -> UUID:
    return author.record(
        workspace, scope_id=leaf.scope_id, target_id=leaf.id, detail={"tree": tree.key}
    )


def _same_words(workspace: Workspace, *, leaf: SourceLeaf) -> list[SourceLeaf]:
    """Other places of the scope that hold this text and are not current, tree by tree."""
    trees = workspace.trees.filter(scope_id=leaf.scope_id)
    rows = workspace.leaves.filter(tree__in=trees, fingerprint=leaf.fingerprint)
    return list(rows.filter(status__in=NOT_CURRENT, forgotten_at=None).exclude(id=leaf.id))


def _forgotten_with(workspace: Workspace, *, leaf: SourceLeaf) -> list[SourceLeaf]:
    """The leaf, and the places that went with it: marked in the same moment."""
    trees = workspace.trees.filter(scope_id=leaf.scope_id)
    rows = workspace.leaves.filter(tree__in=trees, fingerprint=leaf.fingerprint)
    return list(rows.filter(forgotten_at=leaf.forgotten_at, status=SourceLeaf.Status.INACTIVE))


def _mark(workspace: Workspace, *, leaf_id: UUID, place_ids: Sequence[UUID]) -> None:
    """One moment for all of them. A place that became current meanwhile is another memory."""
    rows = workspace.leaves.filter(id__in=place_ids)
    marked = rows.filter(id=leaf_id) | rows.filter(status__in=NOT_CURRENT, forgotten_at=None)
    ids = list(marked.values_list("id", flat=True))
    workspace.leaves.filter(id__in=ids).update(
        status=SourceLeaf.Status.INACTIVE, forgotten_at=now()
    )
    drop_entries(workspace, node_ids=ids)


def _unmark(workspace: Workspace, *, leaf: SourceLeaf, texts: Mapping[UUID, str]) -> None:
    """The leaf itself is active again unless it is history; other places get their state back."""
    moment: datetime | None = leaf.forgotten_at
    rows = workspace.leaves.select_for_update().filter(id__in=texts, forgotten_at=moment)
    for row in rows.exclude(status__in=READABLE).order_by("id"):
        if row.superseded_by_id is not None:
            row.status = SourceLeaf.Status.SUPERSEDED
        elif row.id == leaf.id:
            row.status, row.parent_id = SourceLeaf.Status.ACTIVE, None
        workspace.leaves.filter(id=row.id).update(
            status=row.status, parent_id=row.parent_id, forgotten_at=None
        )
        if row.status in READABLE:
            make_findable(workspace, leaf=row, text=texts[row.id])


def _refuse_forgetting(workspace: Workspace, *, leaf: SourceLeaf) -> None:
    if leaf.status in READABLE:
        return
    if leaf.forgotten_at is not None:
        raise Conflict("This leaf was forgotten already.", detail={"code": "leaf_forgotten"})
    refuse_moved(workspace, leaf=leaf)
    raise Conflict("This leaf is not active.", detail={"code": "leaf_inactive"})


def _refuse_restoring(workspace: Workspace, *, leaf: SourceLeaf) -> None:
    refuse_moved(workspace, leaf=leaf)
    if leaf.forgotten_at is None or leaf.status != SourceLeaf.Status.INACTIVE:
        raise Conflict("This leaf was not forgotten.", detail={"code": "leaf_not_forgotten"})
    if leaf.superseded_by_id is not None:
        return
    refuse_same_text(workspace, tree_id=leaf.tree_id, fingerprint=leaf.fingerprint)
    if leaf.category == Category.INTEGRATION:
        _refuse_older_object(workspace, leaf=leaf)
        refuse_unsaid(workspace, leaf_id=leaf.id)


def _refuse_older_object(workspace: Workspace, *, leaf: SourceLeaf) -> None:
    """The source says something else about the object by now."""
    newer = workspace.leaves.filter(
        tree_id=leaf.tree_id, subject_key=leaf.subject_key, status=SourceLeaf.Status.ACTIVE
    ).first()
    if newer is not None:
        raise Conflict(
            f"This leaf was superseded; the current one is {newer.id}.",
            detail={"code": "leaf_superseded", "leaf_id": str(newer.id)},
        )
