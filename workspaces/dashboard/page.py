"""What every page of a workspace needs: who looks, at which workspace, in which zone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied as Forbidden
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from holamem.database.scope import ALL_SCOPES
from holamem.errors import NotFound, PermissionDenied
from workspaces.dashboard.zones import zone_of
from workspaces.models.tenancy import ApiKey, Tenant, Workspace
from workspaces.services.principals import (
    Principal,
    principal_for_user,
    tenants_of,
    workspace_for,
    workspaces_of,
)


@dataclass(frozen=True, slots=True)
class Choice:
    label: str
    address: str
    is_here: bool


@dataclass(frozen=True, slots=True)
class Place:
    """The workspace that a page shows, as one member of its tenant may see it."""

    principal: Principal
    tenant: Tenant
    workspace: Workspace
    choices: list[Choice]

    @property
    def scopes(self) -> str | tuple[UUID, ...]:
        """People with the right to all users' memory see it; others the shared memory."""
        if self.principal.allows(ApiKey.Permission.MEMORY_ALL_USERS):
            return ALL_SCOPES
        return (self.workspace.id,)

    @property
    def can_write(self) -> bool:
        return self.principal.allows(ApiKey.Permission.MEMORY_WRITE)

    def require_write(self) -> None:
        if not self.can_write:
            raise Forbidden

    @property
    def can_run(self) -> bool:
        """Talk to agents, and decide what they wait for."""
        return self.principal.allows(ApiKey.Permission.AGENTS_RUN)

    def require_run(self) -> None:
        if not self.can_run:
            raise Forbidden

    @property
    def can_manage(self) -> bool:
        return self.principal.allows(ApiKey.Permission.ADMIN)

    def require_admin(self) -> None:
        if not self.can_manage:
            raise Forbidden

    def address(self, name: str, *arguments: object) -> str:
        return reverse(name, args=[self.tenant.slug, self.workspace.slug, *arguments])


PageView = Callable[..., HttpResponseBase]
READING = ("GET", "HEAD")


def workspace_page(view: PageView) -> PageView:
    """Sign-in, then `view(request, place, …)`; another tenant's workspace is not found."""
    return _guarded(view, methods=READING)


def workspace_action(view: PageView) -> PageView:
    """The same for what a button does."""
    return _guarded(view, methods=("POST",))


def workspace_form(view: PageView) -> PageView:
    """The same for a page that its own form is sent to."""
    return _guarded(view, methods=(*READING, "POST"))


def _guarded(view: PageView, *, methods: Sequence[str]) -> PageView:
    @require_http_methods(list(methods))
    @login_required
    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, tenant: str, workspace: str, **rest: Any) -> HttpResponseBase:
        try:
            place = find_place(request, tenant_slug=tenant, workspace_slug=workspace)
            with timezone.override(zone_of(request, place.workspace)):
                response = view(request, place, **rest)
        except NotFound as error:
            raise Http404(error.message) from error
        except PermissionDenied as error:
            raise Forbidden from error
        response["Cache-Control"] = "no-store"
        return response

    return guarded


def signed_in(request: HttpRequest) -> AbstractBaseUser:
    """The person behind a view that asks for sign-in."""
    if not isinstance(request.user, AbstractBaseUser):
        raise Forbidden
    return request.user


def find_place(request: HttpRequest, *, tenant_slug: str, workspace_slug: str) -> Place:
    """Raises NotFound for a tenant that the person is no member of, as for one that is not."""
    user = signed_in(request)
    tenants = tenants_of(user)
    tenant = next((item for item in tenants if item.slug == tenant_slug), None)
    if tenant is None:
        raise NotFound("There is no such workspace.")
    principal = principal_for_user(user, tenant=tenant)
    workspace = workspace_for(principal, slug=workspace_slug)
    siblings = workspaces_of(principal)
    return Place(principal, tenant, workspace, _choices(tenants, tenant, siblings, workspace))


def _choices(
    tenants: list[Tenant], tenant: Tenant, siblings: list[Workspace], here: Workspace
) -> list[Choice]:
    """The workspaces of this tenant, then the other tenants of the person."""
    own = [
        Choice(
            item.name, reverse("dashboard_overview", args=[tenant.slug, item.slug]), item == here
        )
        for item in siblings
    ]
    others = [
        Choice(item.name, reverse("dashboard_tenant", args=[item.slug]), False)
        for item in tenants
        if item != tenant
    ]
    return own + others


def render_page(
    request: HttpRequest, template: str, place: Place, *, section: str, **context: Any
) -> HttpResponse:
    """`section` names the entry of the navigation that is current."""
    return render(request, template, {"place": place, "section": section, **context})


def page_number(request: HttpRequest) -> int:
    """The `page` parameter; 1 for anything that is not a number."""
    text = request.GET.get("page", "1")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1


def query_without_page(request: HttpRequest) -> str:
    """The other parameters of this address, to keep them on the links between pages."""
    rest = request.GET.copy()
    rest.pop("page", None)
    return f"{rest.urlencode()}&" if rest else ""
