"""Tenants and their workspaces."""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from pydantic import ValidationError

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.errors import Conflict, InvalidInput
from workspaces.models.tenancy import ApiKey, Membership, Tenant, Workspace
from workspaces.services import audit
from workspaces.services.api_keys import issue_key
from workspaces.services.principals import Principal
from workspaces.services.quotas import set_quotas
from workspaces.services.rebuild.sidecar import mirror_workspace
from workspaces.services.topology import request_seal
from workspaces.settings import WorkspaceSettings

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
FIRST_SLUG = "main"
FIRST_USER = "admin"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a first start shows: the secrets are stored as hashes only."""

    tenant: str
    workspace_slug: str
    api_key: str
    admin_user: str
    admin_password: str


@dataclass(frozen=True, slots=True)
class NewTenant:
    """Slugs, and the token of a key with every permission, known only here."""

    tenant: str
    workspace: str
    api_key: str


def create_tenant_with_key(
    *, slug: str, name: str, workspace_slug: str, quotas: Mapping[str, object] | None = None
) -> NewTenant:
    """A tenant that can start at once: all of it or nothing. Raises as its parts do."""
    with transaction.atomic():
        tenant = set_quotas(create_tenant(slug=slug, name=name), quotas=quotas or {})
        workspace = create_workspace(tenant, slug=workspace_slug, name=workspace_slug)
        issued = issue_key(tenant, name="first key", permissions=list(ApiKey.Permission.values))
    return NewTenant(tenant.slug, workspace.slug, issued.token)


def create_tenant(*, slug: str, name: str) -> Tenant:
    """Raises InvalidInput for a bad slug, Conflict when it is taken."""
    _check_slug(slug)
    try:
        with system_scope():
            return Tenant.objects.create(slug=slug, name=name)
    except IntegrityError as error:
        raise Conflict("A tenant with this slug exists.", field="slug") from error


def create_workspace(
    tenant: Tenant,
    *,
    slug: str,
    name: str,
    settings: Mapping[str, object] | None = None,
    principal: Principal | None = None,
) -> Workspace:
    """Raises InvalidInput for a bad slug or setting, Conflict when the slug is taken.

    `principal` is who did it, for the log; None for the operator of the installation.
    """
    _check_slug(slug)
    validated = validate_settings(settings or {})
    try:
        with system_scope():
            made = Workspace.objects.create(tenant=tenant, slug=slug, name=name, settings=validated)
            _record(principal, "workspace.created", workspace=made, changed=sorted(validated))
            return made
    except IntegrityError as error:
        raise Conflict("A workspace with this slug exists.", field="slug") from error


def update_workspace(
    workspace: Workspace,
    *,
    name: str | None = None,
    settings: Mapping[str, object] | None = None,
    principal: Principal | None = None,
) -> Workspace:
    """Change the name, or some settings; settings not named keep their value.

    A lower seal threshold makes buffers full that were not: their trees are queued. `principal`
    as in `create_workspace`.
    """
    with workspace_scope(workspace, ALL_SCOPES):
        row = Workspace.objects.select_for_update(of=("self",)).get(id=workspace.id)
        if name is not None:
            row.name = name
        if settings is not None:
            row.settings = validate_settings({**row.settings, **settings})
        row.save(update_fields=["name", "settings"])
        named = ["name"] if name is not None else []
        _record(principal, "workspace.changed", workspace=row, changed=[*named, *(settings or ())])
        if row.preferences.seal_threshold < workspace.preferences.seal_threshold:
            for tree in workspace.trees.only("id", "scope_id"):
                request_seal(workspace, tree=tree)
    row.tenant = workspace.tenant
    mirror_workspace(workspace)
    return row


def archive_workspace(workspace: Workspace, *, principal: Principal | None = None) -> None:
    """Hide a workspace from every caller. Its memory and its slug are kept."""
    with workspace_scope(workspace):
        Workspace.objects.filter(id=workspace.id, archived_at=None).update(archived_at=now())
        _record(principal, "workspace.archived", workspace=workspace, changed=[])
    mirror_workspace(workspace)


def _record(
    principal: Principal | None, action: str, *, workspace: Workspace, changed: Sequence[str]
) -> None:
    """Inside the caller's step. Names of settings, since a value may be text about somebody."""
    if principal is None:
        return
    detail = {"slug": workspace.slug, "changed": list(changed)}
    audit.record(
        workspace, principal=principal, action=action, target_id=workspace.id, detail=detail
    )


def validate_settings(values: Mapping[str, object]) -> dict[str, object]:
    """Only what was set is stored, so that a later default reaches old workspaces."""
    try:
        model = WorkspaceSettings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in ("settings", *first["loc"]))
        raise InvalidInput(f"{first['msg']}.", field=field) from error
    return model.model_dump(mode="json", exclude_unset=True)


def bootstrap_installation(*, admin_password: str | None = None) -> Credentials:
    """The first tenant, workspace, administrator and tenant-wide key, in one transaction."""
    password = admin_password or secrets.token_urlsafe(12)
    with transaction.atomic():
        user, _ = get_user_model().objects.get_or_create(
            username=FIRST_USER, defaults={"is_staff": True, "is_superuser": True}
        )
        user.set_password(password)
        user.save(update_fields=["password"])
        with system_scope():
            tenant, _ = Tenant.objects.get_or_create(slug=FIRST_SLUG, defaults={"name": "Main"})
            workspace, _ = Workspace.objects.get_or_create(
                tenant=tenant, slug=FIRST_SLUG, defaults={"name": "Main"}
            )
            Membership.objects.get_or_create(
                tenant=tenant, user_id=user.pk, defaults={"role": Membership.Role.OWNER}
            )
            issued = issue_key(tenant, name="first key", permissions=list(ApiKey.Permission.values))
    return Credentials(tenant.slug, workspace.slug, issued.token, FIRST_USER, password)


def _check_slug(slug: str) -> None:
    if SLUG.fullmatch(slug) is None:
        raise InvalidInput("A slug is 1 to 63 of a-z, 0-9 and inner hyphens.", field="slug")
