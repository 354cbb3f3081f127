"""Who asks, what they may do, and which rows they may see."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser

from holamem.clock import now
from holamem.database.one_trip import read_system_step
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.errors import HolamemError, NotFound, PermissionDenied
from workspaces.models.tenancy import ApiKey, Audit, Membership, Tenant, Workspace

TOKEN_PREFIX = "hm"  # noqa: S105 - the public part of a key
LAST_USED_RESOLUTION = timedelta(minutes=1)  # a write per request would cost a disk flush each
ROLE_PERMISSIONS = {
    Membership.Role.OWNER: frozenset(ApiKey.Permission.values),
    Membership.Role.ADMIN: frozenset(ApiKey.Permission.values),
    Membership.Role.MEMBER: frozenset(
        {"memory:read", "memory:write", "memory:all_users", "agents:run"}
    ),
    Membership.Role.VIEWER: frozenset({"memory:read", "memory:all_users"}),
}


class AuthenticationFailed(HolamemError):
    """`reason`: key_invalid, key_expired, key_revoked or tenant_suspended."""

    code = "authentication_failed"

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message, detail={"code": reason})
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Principal:
    label: str
    tenant_id: UUID
    workspace_id: UUID | None
    end_user_id: UUID | None
    end_user_ref: str | None
    permissions: frozenset[str]
    key_id: UUID | None
    is_person: bool
    requests_per_second: int | None = None  # of the tenant; None: as many as any

    def allows(self, permission: str) -> bool:
        """A key bound to one end user never reads everyone's memory, whatever it was granted."""
        if permission == ApiKey.Permission.MEMORY_ALL_USERS and self.end_user_id is not None:
            return False
        return permission in self.permissions or ApiKey.Permission.ADMIN in self.permissions


@dataclass(frozen=True, slots=True)
class ScopeSelection:
    """`scopes` for reads (ids, or ALL_SCOPES); `write_scope` where a write would go."""

    scopes: tuple[UUID, ...] | str
    write_scope: UUID
    user_ref: str | None


def secret_digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Admitted:
    """`workspace` is None when no slug was asked for, or when the key does not open it."""

    principal: Principal
    workspace: Workspace | None


# Every API request begins here: key and workspace in one statement. The ORM would take two, and
# more time to build them than the database needs to answer.
_ADMIT = """
SELECT k.id, k.name, k.tenant_id, k.workspace_id, k.end_user_id, k.permissions, k.secret_sha256,
       k.expires_at, k.revoked_at, k.last_used_at, t.slug AS tenant_slug, t.name AS tenant_name,
       t.suspended_at, t.quotas, u.ref AS end_user_ref, w.id AS found_id, w.slug AS found_slug,
       w.name AS found_name, w.settings, w.created_at
  FROM workspaces_apikey k
  JOIN workspaces_tenant t ON t.id = k.tenant_id
  LEFT JOIN workspaces_enduser u ON u.id = k.end_user_id AND u.workspace_id = k.workspace_id
  LEFT JOIN workspaces_workspace w ON w.tenant_id = k.tenant_id AND w.slug = %(slug)s
        AND w.archived_at IS NULL AND (k.workspace_id IS NULL OR k.workspace_id = w.id)
 WHERE k.prefix = %(prefix)s
"""


def admit_key(token: str, *, workspace_slug: str | None) -> Admitted:
    """Who calls with `hm_<prefix>_<secret>`, and the workspace of the address if the key opens it.

    Raises AuthenticationFailed; a workspace that is absent or not theirs is None alike.
    """
    prefix, secret = _split_token(token)
    rows = read_system_step(statement=_ADMIT, values={"prefix": prefix, "slug": workspace_slug})
    key = _checked_key(_key_of(rows[0]) if rows else None, secret=secret)
    _note_use(key)
    principal = Principal(
        label=f"key:{key.name}",
        tenant_id=key.tenant_id,
        workspace_id=key.workspace_id,
        end_user_id=key.end_user_id,
        end_user_ref=rows[0]["end_user_ref"],
        permissions=frozenset(key.permissions),
        key_id=key.id,
        is_person=False,
        requests_per_second=rows[0]["quotas"].get("requests_per_second"),
    )
    return Admitted(principal, _workspace_of(rows[0], tenant=key.tenant))


_KEY_COLUMNS = (
    "id", "name", "tenant_id", "workspace_id", "end_user_id", "permissions", "secret_sha256",
    "expires_at", "revoked_at", "last_used_at",
)  # fmt: skip


def _key_of(row: Mapping[str, Any]) -> ApiKey:
    tenant = Tenant(
        id=row["tenant_id"],
        slug=row["tenant_slug"],
        name=row["tenant_name"],
        suspended_at=row["suspended_at"],
    )
    key = ApiKey(**{name: row[name] for name in _KEY_COLUMNS})
    key.tenant = tenant
    return key


def _workspace_of(row: Mapping[str, Any], *, tenant: Tenant) -> Workspace | None:
    if row["found_id"] is None:
        return None
    return Workspace(
        id=row["found_id"],
        tenant=tenant,
        slug=row["found_slug"],
        name=row["found_name"],
        settings=row["settings"],
        created_at=row["created_at"],
    )


def _split_token(token: str) -> tuple[str, str]:
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] != TOKEN_PREFIX or not token.isascii():
        raise AuthenticationFailed("The API key is not valid.", reason="key_invalid")
    return parts[1], parts[2]


def _checked_key(key: ApiKey | None, *, secret: str) -> ApiKey:
    stored = key.secret_sha256 if key else "0" * 64
    if not hmac.compare_digest(stored, secret_digest(secret)) or key is None:
        raise AuthenticationFailed("The API key is not valid.", reason="key_invalid")
    if key.revoked_at is not None:
        raise AuthenticationFailed("The API key was revoked.", reason="key_revoked")
    if key.expires_at is not None and key.expires_at <= now():
        raise AuthenticationFailed("The API key has expired.", reason="key_expired")
    if key.tenant.suspended_at is not None:
        raise AuthenticationFailed("The tenant is suspended.", reason="tenant_suspended")
    return key


def _note_use(key: ApiKey) -> None:
    moment = now()
    if key.last_used_at is None or moment - key.last_used_at > LAST_USED_RESOLUTION:
        with system_scope():
            ApiKey.objects.filter(id=key.id).update(last_used_at=moment)


def principal_for_user(user: AbstractBaseUser, *, tenant: Tenant) -> Principal:
    """A person's principal in one tenant. Raises NotFound when they are no member of it."""
    with system_scope():
        membership = Membership.objects.filter(
            user_id=user.pk, tenant=tenant, tenant__suspended_at=None
        ).first()
    if membership is None:
        raise NotFound("There is no such tenant.")
    return Principal(
        label=f"user:{user.get_username()}",
        tenant_id=tenant.id,
        workspace_id=None,
        end_user_id=None,
        end_user_ref=None,
        permissions=ROLE_PERMISSIONS[Membership.Role(membership.role)],
        key_id=None,
        is_person=True,
    )


def tenants_of(user: AbstractBaseUser) -> list[Tenant]:
    with system_scope():
        return list(
            Tenant.objects.filter(memberships__user_id=user.pk, suspended_at=None).order_by("slug")
        )


def workspaces_of(principal: Principal) -> list[Workspace]:
    """Live workspaces by slug; a key bound to one sees that one only."""
    with system_scope():
        rows = Workspace.objects.select_related("tenant").filter(
            tenant_id=principal.tenant_id, archived_at=None
        )
        if principal.workspace_id is not None:
            rows = rows.filter(id=principal.workspace_id)
        return list(rows.order_by("slug"))


def workspace_for(principal: Principal, *, slug: str) -> Workspace:
    """The door from a slug to a workspace. Absent and not yours are the same NotFound."""
    with system_scope():
        workspace = (
            Workspace.objects.select_related("tenant")
            .filter(tenant_id=principal.tenant_id, slug=slug, archived_at=None)
            .first()
        )
    bound_elsewhere = principal.workspace_id is not None and (
        workspace is None or workspace.id != principal.workspace_id
    )
    if workspace is None or bound_elsewhere:
        raise NotFound("There is no such workspace.")
    return workspace


def select_scopes(
    workspace: Workspace, *, principal: Principal, user_id: str | None
) -> ScopeSelection:
    """Which memory a read may see: the shared, or the shared plus one end user's, or everyone's.

    An end user without memory reads the shared scope only. Asking for everyone's is audited.
    """
    if principal.end_user_id is not None:
        if user_id not in (None, principal.end_user_ref):
            raise NotFound("There is no such end user.")
        bound = principal.end_user_id
        return ScopeSelection((workspace.id, bound), bound, principal.end_user_ref)
    if user_id is None:
        return ScopeSelection((workspace.id,), workspace.id, None)
    if user_id == ALL_SCOPES:
        return _everyone(workspace, principal=principal)
    with workspace_scope(workspace):
        user = workspace.end_users.filter(ref=user_id, erased_at=None).first()
    if user is None:
        return ScopeSelection((workspace.id,), workspace.id, user_id)
    return ScopeSelection((workspace.id, user.id), user.id, user_id)


def _everyone(workspace: Workspace, *, principal: Principal) -> ScopeSelection:
    if not principal.allows(ApiKey.Permission.MEMORY_ALL_USERS):
        raise PermissionDenied("This needs the permission memory:all_users.", field="user_id")
    with workspace_scope(workspace):
        Audit.objects.create(
            tenant_id=workspace.tenant_id,
            workspace=workspace,
            actor=principal.label,
            action="memory.read_all_users",
            target=workspace.slug,
        )
    return ScopeSelection(ALL_SCOPES, workspace.id, None)
