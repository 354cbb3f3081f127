"""An inactive leaf is current again: into the buffer, the search index and the count."""

from holamem.database.scope import workspace_scope
from holamem.errors import Conflict
from workspaces.bodies import read_markdown
from workspaces.index.entries import put_leaf_lexemes
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, is_withheld
from workspaces.services.corrections.changes import Author, Changed
from workspaces.services.corrections.leaf_state import (
    count_leaves,
    lock_leaf,
    lock_trees,
    refuse_moved,
    refuse_same_text,
)
from workspaces.services.entities.merge import reopen_merge_of
from workspaces.services.jobs import add_job
from workspaces.services.reindexing import entity_names
from workspaces.services.topology import request_seal


def make_findable(workspace: Workspace, *, leaf: SourceLeaf, text: str) -> None:
    """Inside the caller's step: by text at once, by vector soon after."""
    names = entity_names(workspace, leaf=leaf)
    put_leaf_lexemes(workspace, leaf=leaf, text=text, entity_names=names)
    add_job(workspace, topic=Job.Topic.NODE_CREATED, target_id=leaf.id, scope_id=leaf.scope_id)
    if leaf.entity_id is not None and leaf.status == SourceLeaf.Status.ACTIVE:
        reopen_merge_of(workspace, entity_id=leaf.entity_id)


def bring_back(workspace: Workspace, *, leaf: SourceLeaf, author: Author) -> Changed:
    """A leaf whose text went to another tree's own leaf returns; that one keeps its sources."""
    text = read_markdown(leaf.body_path, sha256=leaf.body_sha256)
    with workspace_scope(workspace, [leaf.scope_id]):
        tree = lock_trees(workspace, tree_ids=[leaf.tree_id])[leaf.tree_id]
        current = lock_leaf(workspace, leaf_id=leaf.id)
        _refuse(workspace, leaf=current)
        current.status, current.parent_id = SourceLeaf.Status.ACTIVE, None
        workspace.leaves.filter(id=leaf.id).update(status=current.status, parent=None)
        make_findable(workspace, leaf=current, text=text)
        count_leaves(workspace, tree_id=tree.id, added=1)
        request_seal(workspace, tree=tree)
        audit_id = author.record(
            workspace, scope_id=leaf.scope_id, target_id=leaf.id, detail={"tree": tree.key}
        )
    return Changed(leaf_id=leaf.id, audit_id=audit_id)


def _refuse(workspace: Workspace, *, leaf: SourceLeaf) -> None:
    refuse_moved(workspace, leaf=leaf)
    if is_withheld(leaf) or leaf.status != SourceLeaf.Status.INACTIVE:
        raise Conflict("This leaf changed since.", detail={"code": "leaf_changed"})
    refuse_same_text(workspace, tree_id=leaf.tree_id, fingerprint=leaf.fingerprint)
