"""Who changed what: one entry for each change by a person or a key, in the change's own step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from holamem.database.scope import system_scope, workspace_scope
from holamem.errors import Conflict, NotFound
from workspaces.models.tenancy import Audit, Workspace
from workspaces.services.listing import Listed, Slice, read_slice
from workspaces.services.principals import Principal

Scopes = Sequence[UUID] | str | None
UNDONE = ".undone"


@dataclass(frozen=True, slots=True)
class AuditLine:
    """`undoes` and `undone_by` are entries of the same log."""

    id: UUID
    action: str
    actor: str
    target: str
    detail: dict[str, object]
    at: datetime
    undoes: UUID | None
    undone_by: UUID | None


def record(
    workspace: Workspace,
    *,
    principal: Principal,
    action: str,
    target_id: UUID | None,
    detail: Mapping[str, object],
    scope_id: UUID | None = None,
    undoes: UUID | None = None,
) -> UUID:
    """Inside the caller's step. `detail` holds ids and names of entities, never memory text.

    `scope_id` is the memory that changed: without it only who may see everyone's sees the entry.
    `undoes` names the entry that this one takes back; a second one is an IntegrityError.
    """
    entry = Audit.objects.create(
        tenant_id=workspace.tenant_id,
        workspace=workspace,
        actor=principal.label,
        action=action,
        target="" if target_id is None else str(target_id),
        detail=dict(detail),
        scope_id=scope_id,
        undoes_id=undoes,
    )
    return entry.id


def record_of_tenant(
    principal: Principal,
    *,
    action: str,
    target: str,
    detail: Mapping[str, object],
    workspace: Workspace | None = None,
) -> UUID:
    """Of keys and members; inside the caller's step as the system. Never holds a secret."""
    entry = Audit.objects.create(
        tenant_id=principal.tenant_id,
        workspace=workspace,
        actor=principal.label,
        action=action,
        target=target,
        detail=dict(detail),
    )
    return entry.id


def list_tenant_audit(principal: Principal, *, wanted: Slice) -> Listed[AuditLine]:
    """What was done to the tenant itself, newest first: its members, and keys for all of it."""
    with system_scope():
        rows = Audit.objects.filter(tenant_id=principal.tenant_id, workspace=None)
        rows = rows.select_related("undone_by")
        found = read_slice(rows, wanted=wanted, newest_first=True)
        return Listed(list(map(_line, found.rows)), found.has_next, found.has_previous)


def list_audit(
    workspace: Workspace, *, scopes: Scopes, wanted: Slice, action: str | None = None
) -> Listed[AuditLine]:
    """Newest first. Entries about no scope are shown with everyone's memory only."""
    with workspace_scope(workspace, scopes):
        rows = workspace.audit_entries.filter(_visible(workspace, scopes=scopes))
        rows = rows.select_related("undone_by")
        if action is not None:
            rows = rows.filter(action=action)
        found = read_slice(rows, wanted=wanted, newest_first=True)
        lines = [_line(entry) for entry in found.rows]
        return Listed(lines, found.has_next, found.has_previous)


def _line(entry: Audit) -> AuditLine:
    undone_by = getattr(entry, "undone_by", None)
    return AuditLine(
        id=entry.id,
        action=entry.action,
        actor=entry.actor,
        target=entry.target,
        detail=dict(entry.detail),
        at=entry.at,
        undoes=entry.undoes_id,
        undone_by=None if undone_by is None else undone_by.id,
    )


def find_entry(workspace: Workspace, *, scopes: Scopes, audit_id: UUID) -> Audit:
    """An entry that may be taken back. Raises NotFound, and Conflict when it was already."""
    with workspace_scope(workspace, scopes):
        rows = workspace.audit_entries.filter(_visible(workspace, scopes=scopes), id=audit_id)
        entry = rows.first()
        if entry is None:
            raise NotFound("There is no such audit entry.")
        refuse_undone(workspace, entry=entry)
    return entry


def refuse_undone(workspace: Workspace, *, entry: Audit) -> None:
    """Inside the caller's step. Raises Conflict when the entry was taken back before."""
    if workspace.audit_entries.filter(undoes=entry.id).exists():
        raise Conflict("This change was undone already.", detail={"code": "already_undone"})


def _visible(workspace: Workspace, *, scopes: Scopes) -> Q:
    """Row-level security holds without it; this also hides entries about no scope."""
    if scopes is None:
        return Q(scope_id=workspace.id)
    return Q() if isinstance(scopes, str) else Q(scope_id__in=scopes)
