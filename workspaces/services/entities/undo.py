"""The ways back from what people did to entities, one an action, for the audit log's undo."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.errors import Conflict
from holamem.text.normalise import normalise_name
from workspaces.models.entities import Entity
from workspaces.models.tenancy import Audit, Workspace
from workspaces.services.corrections.changes import Author, Changed, Scopes
from workspaces.services.corrections.undo import register_undo
from workspaces.services.entities.changes import give_name, hold_for_change, save_names
from workspaces.services.entities.names import require_free
from workspaces.services.entities.unmerge import begin_undo


def undo_rename(workspace: Workspace, entry: Audit, author: Author, scopes: Scopes) -> Changed:
    """The old name, which others may have taken since; the new one goes if it came with it."""
    old, new = str(entry.detail["old"]), str(entry.detail["new"])
    with _held(workspace, entry=entry) as entity:
        if entity.name != new:
            raise _changed_since()
        require_free(workspace, entity=entity, name=old, field="")
        give_name(workspace, entity, name=old)
        if not entry.detail["was_alias"]:
            _drop_alias(workspace, entity, alias=new)
        return _record(workspace, entity, author=author, old=new, new=old)


def undo_alias_added(workspace: Workspace, entry: Audit, author: Author, scopes: Scopes) -> Changed:
    alias = str(entry.detail["alias"])
    with _held(workspace, entry=entry) as entity:
        if alias not in entity.aliases:
            raise _changed_since()
        _drop_alias(workspace, entity, alias=alias)
        return _record(workspace, entity, author=author, alias=alias)


def undo_alias_removed(
    workspace: Workspace, entry: Audit, author: Author, scopes: Scopes
) -> Changed:
    alias = str(entry.detail["alias"])
    with _held(workspace, entry=entry) as entity:
        if normalise_name(alias) in entity.normalised_names:
            raise _changed_since()
        require_free(workspace, entity=entity, name=alias, field="")
        entity.aliases = [*entity.aliases, alias]
        save_names(workspace, entity)
        return _record(workspace, entity, author=author, alias=alias)


def undo_merge(workspace: Workspace, entry: Audit, author: Author, scopes: Scopes) -> Changed:
    """The entity lives at once; its leaves return in the background."""
    scope_id = _scope_of(entry)
    with workspace_scope(workspace, [scope_id]):
        merge = begin_undo(
            workspace, scope_id=scope_id, merge_id=UUID(str(entry.detail["merge_id"]))
        )
        return _record(workspace, merge.source, author=author, merge_id=str(merge.id))


@contextmanager
def _held(workspace: Workspace, *, entry: Audit) -> Iterator[Entity]:
    scope_id = _scope_of(entry)
    with workspace_scope(workspace, [scope_id]):
        yield hold_for_change(workspace, scope_id=scope_id, entity_id=UUID(entry.target))


def _scope_of(entry: Audit) -> UUID:
    """Entries about entities always name the scope; without it there is nothing to go back to."""
    if entry.scope_id is None:
        raise Conflict("This change cannot be undone.", detail={"code": "not_undoable"})
    return entry.scope_id


def _drop_alias(workspace: Workspace, entity: Entity, *, alias: str) -> None:
    compared = normalise_name(alias)
    entity.aliases = [known for known in entity.aliases if normalise_name(known) != compared]
    save_names(workspace, entity)


def _changed_since() -> Conflict:
    return Conflict("The entity was changed since.", detail={"code": "entity_changed"})


def _record(workspace: Workspace, entity: Entity, *, author: Author, **detail: object) -> Changed:
    audit_id = author.record(
        workspace,
        scope_id=entity.scope_id,
        target_id=entity.id,
        detail={"slug": entity.slug, **detail},
    )
    return Changed(leaf_id=None, audit_id=audit_id)


def register() -> None:
    """Called once when the app is ready."""
    register_undo("entity.renamed", undo_rename)
    register_undo("entity.alias_added", undo_alias_added)
    register_undo("entity.alias_removed", undo_alias_removed)
    register_undo("entity.merged", undo_merge)
