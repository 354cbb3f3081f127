"""API keys: shown once, stored as a hash."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from holamem.clock import now
from holamem.database.scope import system_scope
from holamem.errors import InvalidInput
from workspaces.models.tenancy import ApiKey, EndUser, Tenant, Workspace
from workspaces.services.principals import TOKEN_PREFIX, secret_digest

PREFIX_BYTES = 5
SECRET_BYTES = 32  # 256 bits: random values this long need no slow hash


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """`token` is known only here; the database has its hash."""

    key: ApiKey
    token: str


def issue_key(
    tenant: Tenant,
    *,
    name: str,
    permissions: Sequence[str],
    workspace: Workspace | None = None,
    end_user: EndUser | None = None,
    expires_at: datetime | None = None,
) -> IssuedKey:
    """Raises InvalidInput for an unknown permission or a binding outside the tenant."""
    unknown = set(permissions) - set(ApiKey.Permission.values)
    if unknown:
        raise InvalidInput(f"Unknown permission: {sorted(unknown)[0]}.", field="permissions")
    if workspace is not None and workspace.tenant_id != tenant.id:
        raise InvalidInput("The workspace is not the tenant's.", field="workspace")
    if end_user is not None and (workspace is None or end_user.workspace_id != workspace.id):
        raise InvalidInput("The end user is not in the workspace.", field="end_user")
    prefix, secret = secrets.token_hex(PREFIX_BYTES), secrets.token_hex(SECRET_BYTES)
    with system_scope():
        key = ApiKey.objects.create(
            tenant=tenant,
            workspace=workspace,
            end_user=end_user,
            name=name,
            prefix=prefix,
            secret_sha256=secret_digest(secret),
            permissions=list(permissions),
            expires_at=expires_at,
        )
    return IssuedKey(key=key, token=f"{TOKEN_PREFIX}_{prefix}_{secret}")


def revoke_key(key: ApiKey) -> None:
    """Revoking twice keeps the first time."""
    with system_scope():
        ApiKey.objects.filter(id=key.id, revoked_at=None).update(revoked_at=now())
