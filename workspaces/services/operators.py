"""Look-ups over all tenants, for commands: whoever may run those may see every tenant."""

from holamem.database.scope import system_scope
from holamem.errors import NotFound
from workspaces.models.tenancy import ApiKey, Tenant, Workspace
from workspaces.services.principals import Principal


def find_workspaces(*, tenant: str | None = None, slug: str | None = None) -> list[Workspace]:
    """By slugs, archived ones included, oldest first; all without any. Raises NotFound for none."""
    with system_scope():
        found = Workspace.objects.select_related("tenant").order_by("id")
        if tenant:
            found = found.filter(tenant__slug=tenant)
        if slug:
            found = found.filter(slug=slug)
        workspaces = list(found)
    if not workspaces and (tenant or slug):
        raise NotFound("There is no such workspace.")
    return workspaces


def find_tenant(slug: str) -> Tenant:
    """Raises NotFound."""
    with system_scope():
        tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        raise NotFound("There is no such tenant.")
    return tenant


def operator_principal(workspace: Workspace, *, label: str) -> Principal:
    """Who a command acts as in one workspace; `label` is what the audit shows."""
    return Principal(
        label=label,
        tenant_id=workspace.tenant_id,
        workspace_id=workspace.id,
        end_user_id=None,
        end_user_ref=None,
        permissions=frozenset({ApiKey.Permission.ADMIN.value}),
        key_id=None,
        is_person=False,
    )
