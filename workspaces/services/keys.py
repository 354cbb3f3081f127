"""Keys as their owners manage them: list, create, rotate, revoke.

Who may do this holds the permission `admin`. A key of one workspace manages that one's keys only,
and what it makes is bound to it. A token is in an answer once and in no row.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet

from holamem.clock import now
from holamem.database.scope import system_scope
from holamem.errors import Conflict, InvalidInput, NotFound
from workspaces.models.tenancy import ApiKey, EndUser, Tenant, Workspace
from workspaces.services.api_keys import IssuedKey, issue_key, revoke_key
from workspaces.services.audit import record_of_tenant
from workspaces.services.listing import Listed, Slice, read_slice
from workspaces.services.principals import Principal

KEYS_PER_TENANT = 100
LONGEST_LIFE = timedelta(days=3650)
MAX_OVERLAP_HOURS = 168
DEFAULT_OVERLAP_HOURS = 24


@dataclass(frozen=True, slots=True)
class NewKey:
    """`workspace` is a slug, `user_id` the caller's own id of an end user of that workspace."""

    name: str
    permissions: tuple[str, ...]
    workspace: str | None = None
    user_id: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class KeyLine:
    id: UUID
    name: str
    prefix: str
    permissions: list[str]
    workspace: str | None
    user_id: str | None
    status: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class MadeKey:
    line: KeyLine
    token: str


def list_keys(principal: Principal, *, wanted: Slice) -> Listed[KeyLine]:
    """Newest first, revoked and expired ones too."""
    with system_scope():
        found = read_slice(_managed(principal), wanted=wanted, newest_first=True)
        return Listed(list(map(key_line, found.rows)), found.has_next, found.has_previous)


def get_key(principal: Principal, *, key_id: UUID) -> KeyLine:
    """Raises NotFound."""
    return key_line(_find(principal, key_id=key_id))


def create_key(principal: Principal, *, wanted: NewKey) -> MadeKey:
    """Raises InvalidInput, NotFound with a field for an unknown binding, or Conflict at the cap."""
    _check_expiry(wanted.expires_at)
    with system_scope():
        tenant = Tenant.objects.select_for_update().get(id=principal.tenant_id)
        _check_cap(tenant)
        workspace = _workspace_of(principal, tenant=tenant, slug=wanted.workspace)
        end_user = _end_user_of(workspace, ref=wanted.user_id)
        issued = issue_key(
            tenant,
            name=wanted.name,
            permissions=sorted(set(wanted.permissions)),
            workspace=workspace,
            end_user=end_user,
            expires_at=wanted.expires_at,
        )
        _record(principal, action="key.created", key=issued.key)
    return _made(issued)


def rotate_key(
    principal: Principal, *, key_id: UUID, overlap_hours: int = DEFAULT_OVERLAP_HOURS
) -> MadeKey:
    """A new token for the same; the old key lives on for the overlap. Raises NotFound, Conflict.

    The new key has the life that the old one was given.
    """
    with system_scope():
        tenant = Tenant.objects.select_for_update().get(id=principal.tenant_id)
        old = _find(principal, key_id=key_id)
        if status_of(old) != "active":
            raise Conflict("Only an active key is rotated.", detail={"code": "key_not_active"})
        _check_cap(tenant)
        moment = now()
        issued = issue_key(
            tenant,
            name=old.name,
            permissions=old.permissions,
            workspace=old.workspace,
            end_user=old.end_user,
            expires_at=moment + (old.expires_at - old.created_at) if old.expires_at else None,
        )
        end = moment + timedelta(hours=overlap_hours)
        old.expires_at = end if old.expires_at is None else min(end, old.expires_at)
        old.save(update_fields=["expires_at"])
        _record(principal, action="key.rotated", key=old, new=issued.key.prefix)
    return _made(issued)


def retire_key(principal: Principal, *, key_id: UUID) -> KeyLine:
    """No request is admitted with it from now on. Twice is as once. Raises NotFound."""
    with system_scope():
        key = _find(principal, key_id=key_id)
        if key.revoked_at is None:
            revoke_key(key)
            _record(principal, action="key.revoked", key=key)
    return get_key(principal, key_id=key_id)


def status_of(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now() else "active"


def key_line(key: ApiKey) -> KeyLine:
    return KeyLine(
        id=key.id,
        name=key.name,
        prefix=key.prefix,
        permissions=sorted(key.permissions),
        workspace=key.workspace.slug if key.workspace else None,
        user_id=key.end_user.ref if key.end_user else None,
        status=status_of(key),
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        last_used_at=key.last_used_at,
    )


def _managed(principal: Principal) -> QuerySet[ApiKey]:
    rows = ApiKey.objects.select_related("workspace", "end_user")
    rows = rows.filter(tenant_id=principal.tenant_id)
    if principal.workspace_id is not None:
        rows = rows.filter(workspace_id=principal.workspace_id)
    return rows


def _find(principal: Principal, *, key_id: UUID) -> ApiKey:
    with system_scope():
        key = _managed(principal).filter(id=key_id).first()
    if key is None:
        raise NotFound("There is no such key.")
    return key


def _workspace_of(principal: Principal, *, tenant: Tenant, slug: str | None) -> Workspace | None:
    """A key of one workspace makes keys of that one, whether it is named or not."""
    rows = Workspace.objects.filter(tenant=tenant, archived_at=None)
    if principal.workspace_id is not None:
        rows = rows.filter(id=principal.workspace_id)
    elif slug is None:
        return None
    found = (rows if slug is None else rows.filter(slug=slug)).first()
    if found is None:
        raise InvalidInput("There is no such workspace.", field="workspace")
    return found


def _end_user_of(workspace: Workspace | None, *, ref: str | None) -> EndUser | None:
    if ref is None:
        return None
    if workspace is None:
        raise InvalidInput("A key of one end user needs its workspace.", field="workspace")
    found = EndUser.objects.filter(workspace=workspace, ref=ref, erased_at=None).first()
    if found is None:
        raise InvalidInput("There is no such end user.", field="user_id")
    return found


def _check_cap(tenant: Tenant) -> None:
    """Under the tenant's lock, so that two requests do not both take the last place."""
    live = ApiKey.objects.filter(tenant=tenant, revoked_at=None).exclude(expires_at__lte=now())
    if live.count() >= KEYS_PER_TENANT:
        raise Conflict(
            f"A tenant has at most {KEYS_PER_TENANT} active keys.",
            detail={"code": "too_many_keys"},
        )


def _check_expiry(moment: datetime | None) -> None:
    if moment is not None and not now() < moment <= now() + LONGEST_LIFE:
        raise InvalidInput("A key ends in the future, within ten years.", field="expires_at")


def _record(principal: Principal, *, action: str, key: ApiKey, **more: str) -> None:
    detail = {"name": key.name, "prefix": key.prefix, "permissions": list(key.permissions), **more}
    record_of_tenant(
        principal, action=action, target=str(key.id), detail=detail, workspace=key.workspace
    )


def _made(issued: IssuedKey) -> MadeKey:
    return MadeKey(key_line(issued.key), issued.token)
