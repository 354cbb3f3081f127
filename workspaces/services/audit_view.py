"""The audit log as people read it: who changed what, and what of it can be taken back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from workspaces.models.tenancy import Audit, Workspace
from workspaces.models.trees import is_withheld
from workspaces.services.corrections.undo import is_undoable
from workspaces.services.paging import Page, read_page
from workspaces.services.tree_view import owner_names

MAX_HISTORY = 50  # entries shown beside one entity or leaf
MAX_FACT_CHARACTERS = 120
# What of an entry's detail says something to a person; the rest is for programs.
SHOWN = ("old", "new", "alias", "name", "into_name", "from_tree", "to_tree", "tree")
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class AuditRow:
    """`kind` is leaf, entity, tree, integration or empty; `title` is empty where it is gone or withheld.

    `facts` are the names in the entry's detail.
    """

    id: UUID
    action: str
    actor: str
    at: datetime
    target: str
    kind: str
    target_id: UUID | None
    title: str
    facts: list[tuple[str, str]]
    owner: str | None
    is_undone: bool
    can_undo: bool


def list_audit_rows(
    workspace: Workspace, *, scopes: Scopes, action: str, page: int
) -> Page[AuditRow]:
    """Newest first. Six queries at most, whatever the number of rows."""
    with workspace_scope(workspace, scopes):
        rows = _visible(workspace, scopes=scopes)
        if action:
            rows = rows.filter(action=action)
        found = read_page(rows.order_by("-id"), number=page)
        return found.map(lambda entries: _audit_rows(workspace, entries))


def audit_actions(workspace: Workspace, *, scopes: Scopes) -> list[str]:
    """The actions that the log holds, in alphabetical order."""
    with workspace_scope(workspace, scopes):
        rows = _visible(workspace, scopes=scopes).order_by("action")
        return list(rows.values_list("action", flat=True).distinct())


def changes_of(workspace: Workspace, *, scopes: Scopes, target_id: UUID) -> list[AuditRow]:
    """What people and keys did to one leaf, entity or tree, newest first."""
    with workspace_scope(workspace, scopes):
        rows = _visible(workspace, scopes=scopes).filter(target=str(target_id))
        return _audit_rows(workspace, rows.order_by("-id")[:MAX_HISTORY])


def audit_row(workspace: Workspace, *, scopes: Scopes, audit_id: UUID) -> AuditRow:
    """Raises NotFound."""
    with workspace_scope(workspace, scopes):
        found = _audit_rows(workspace, _visible(workspace, scopes=scopes).filter(id=audit_id))
    if not found:
        raise NotFound("There is no such audit entry.")
    return found[0]


def _visible(workspace: Workspace, *, scopes: Scopes) -> QuerySet[Audit]:
    """Entries about no scope are shown with everyone's memory only."""
    rows = workspace.audit_entries.select_related("undone_by")
    if isinstance(scopes, str):  # ALL_SCOPES
        return rows
    return rows.filter(scope_id__in=[workspace.id] if scopes is None else scopes)


def _audit_rows(workspace: Workspace, entries: Iterable[Audit]) -> list[AuditRow]:
    entries = list(entries)
    targets = [target for entry in entries if (target := _uuid(entry.target))]
    titles = _titles(workspace, targets)
    owners = owner_names(
        workspace, scope_ids=[entry.scope_id for entry in entries if entry.scope_id]
    )
    return [_audit_row(entry, titles=titles, owners=owners) for entry in entries]


def _titles(workspace: Workspace, ids: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
    """Kind and title of each target that still exists: four queries."""
    leaves = {
        leaf.id: ("leaf", "" if is_withheld(leaf) else leaf.title)
        for leaf in workspace.leaves.filter(id__in=ids)
    }
    entities = workspace.entities.filter(id__in=ids).values_list("id", "name")
    trees = workspace.trees.filter(id__in=ids).values_list("id", "title")
    connectors = workspace.connectors.filter(id__in=ids)
    return (
        leaves
        | {key: ("entity", name) for key, name in entities}
        | {key: ("tree", title) for key, title in trees}
        | {connector.id: ("integration", str(connector)) for connector in connectors}
    )


def _audit_row(
    entry: Audit, *, titles: dict[UUID, tuple[str, str]], owners: dict[UUID, str]
) -> AuditRow:
    target_id = _uuid(entry.target)
    kind, title = titles.get(target_id, ("", "")) if target_id else ("", "")
    is_undone = hasattr(entry, "undone_by")
    return AuditRow(
        id=entry.id,
        action=entry.action,
        actor=entry.actor,
        at=entry.at,
        target=entry.target,
        kind=kind,
        target_id=target_id if kind else None,
        title=title,
        facts=_facts(entry.detail),
        owner=owners.get(entry.scope_id) if entry.scope_id else None,
        is_undone=is_undone,
        can_undo=not is_undone and is_undoable(entry.action),
    )


def _facts(detail: dict[str, object]) -> list[tuple[str, str]]:
    """Each cut to a line."""
    return [(name, str(detail[name])[:MAX_FACT_CHARACTERS]) for name in SHOWN if detail.get(name)]


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
