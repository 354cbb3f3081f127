"""Taking a change back: the audit entry says what was done, its action who knows how to undo it."""

from collections.abc import Callable
from uuid import UUID

from django.db import IntegrityError

from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, NotFound
from workspaces.bodies import read_markdown
from workspaces.models.tenancy import Audit, Workspace
from workspaces.models.trees import SourceLeaf, is_withheld
from workspaces.services import audit
from workspaces.services.corrections.changes import Author, Changed, Scopes
from workspaces.services.corrections.correct import replace_text
from workspaces.services.corrections.forget import put_back, take_out
from workspaces.services.corrections.leaf_state import find_leaf
from workspaces.services.corrections.move import owner_of, transfer
from workspaces.services.corrections.returning import bring_back
from workspaces.services.corrections.wording import wording_like
from workspaces.services.principals import Principal

# Makes the change back with the given author, whose record says what it undoes. Raises Conflict
# when what was changed has moved on since. Returns what it changed.
Undo = Callable[[Workspace, Audit, Author, Scopes], Changed]
_undos: dict[str, Undo] = {}


def register_undo(action: str, undo: Undo) -> None:
    """One way back an action, registered by the module that owns the change."""
    _undos[action] = undo


def is_undoable(action: str) -> bool:
    return action in _undos


def undo_change(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, audit_id: UUID
) -> Changed:
    """Raises NotFound; Conflict when it was undone before, or cannot be (any more)."""
    entry = audit.find_entry(workspace, scopes=scopes, audit_id=audit_id)
    undo = _undos.get(entry.action)
    if undo is None:
        raise Conflict("This change cannot be undone.", detail={"code": "not_undoable"})
    author = Author(principal, f"{entry.action}{audit.UNDONE}", undoes=entry.id)
    try:
        return undo(workspace, entry, author, scopes)
    except IntegrityError:
        with workspace_scope(workspace, scopes):
            audit.refuse_undone(workspace, entry=entry)
        raise


def undo_correction(workspace: Workspace, entry: Audit, author: Author, scopes: Scopes) -> Changed:
    """The old text in a new active leaf: what was said in between stays as history."""
    leaf = _target(workspace, entry=entry, scopes=scopes)
    old = find_leaf(workspace, scopes=scopes, leaf_id=UUID(entry.detail["replaces"]))
    if is_withheld(old):
        raise Conflict("The text before was forgotten.", detail={"code": "leaf_forgotten"})
    text = read_markdown(old.body_path, sha256=old.body_sha256)
    made = replace_text(workspace, leaf=leaf, text=text, author=author, wording=wording_like(old))
    return Changed(leaf_id=made.leaf_id, audit_id=made.audit_id)


def undo_forgetting(workspace: Workspace, entry: Audit, author: Author, scopes: Scopes) -> Changed:
    leaf = _target(workspace, entry=entry, scopes=scopes)
    return put_back(workspace, leaf=leaf, author=author)


def undo_restoring(workspace: Workspace, entry: Audit, author: Author, scopes: Scopes) -> Changed:
    leaf = _target(workspace, entry=entry, scopes=scopes)
    return take_out(workspace, leaf=leaf, author=author)


def undo_move(workspace: Workspace, entry: Audit, author: Author, scopes: Scopes) -> Changed:
    """Back to the tree that it came from, as another leaf there; a linked one returns as it was."""
    old = find_leaf(workspace, scopes=scopes, leaf_id=UUID(entry.detail["moved_from"]))
    if entry.detail["linked"]:
        return bring_back(workspace, leaf=old, author=author)
    leaf = _target(workspace, entry=entry, scopes=scopes)
    moved = transfer(
        workspace,
        leaf=leaf,
        plan=lambda: owner_of(workspace, scope_id=old.scope_id, entity_id=_current_owner(old)),
        author=author,
    )
    return Changed(leaf_id=moved.leaf_id, audit_id=moved.audit_id)


def _current_owner(leaf: SourceLeaf) -> str:
    """The entity of the old place, or the one that it was merged into since."""
    entity = leaf.entity
    if entity is None:  # no interaction leaf is without its owner
        raise NotFound("There is no such entity.")
    return str(entity.merged_into_id or entity.id)


def _target(workspace: Workspace, *, entry: Audit, scopes: Scopes) -> SourceLeaf:
    return find_leaf(workspace, scopes=scopes, leaf_id=UUID(entry.target))


def register() -> None:
    """Called once when the app is ready."""
    register_undo("leaf.corrected", undo_correction)
    register_undo("leaf.forgotten", undo_forgetting)
    register_undo("leaf.restored", undo_restoring)
    register_undo("leaf.moved", undo_move)
