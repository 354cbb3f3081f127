"""Sign-in, sign-out, and the way from an address without a workspace to one with."""

import hashlib
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView, LogoutView
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from workspaces.dashboard.page import signed_in
from workspaces.models.tenancy import Tenant
from workspaces.services.principals import principal_for_user, tenants_of, workspaces_of

MAX_FAILURES = 10  # per name and address, in each web process
LOCK_SECONDS = 900


class SignIn(LoginView):
    """Django's form; after ten failures the same name waits fifteen minutes."""

    template_name = "dashboard/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if cache.get(_failure_key(request), 0) >= MAX_FAILURES:
            form = self.get_form_class()(request)
            context = {"form": form, "problem": _("Too many attempts. Try again in 15 minutes.")}
            return render(request, self.template_name, context, status=429)
        return super().post(request, *args, **kwargs)

    def form_invalid(self, form: Any) -> HttpResponse:
        key = _failure_key(self.request)
        cache.add(key, 0, LOCK_SECONDS)
        cache.incr(key)
        return super().form_invalid(form)


def _failure_key(request: HttpRequest) -> str:
    """Hashed, since a name may hold what a cache key may not."""
    who = f"{request.POST.get('username', '').casefold()}|{request.META.get('REMOTE_ADDR', '')}"
    return "sign-in:" + hashlib.sha256(who.encode("utf-8", "replace")).hexdigest()


class SignOut(LogoutView):
    http_method_names = ["post", "options"]


@login_required
def home(request: HttpRequest) -> HttpResponseBase:
    """The first workspace of the person's first tenant that has one."""
    for tenant in tenants_of(signed_in(request)):
        address = _first_workspace(request, tenant)
        if address is not None:
            return address
    return render(request, "dashboard/no_workspace.html")


@login_required
def tenant_home(request: HttpRequest, tenant: str) -> HttpResponseBase:
    found = next((item for item in tenants_of(signed_in(request)) if item.slug == tenant), None)
    if found is None:
        raise Http404
    return _first_workspace(request, found) or render(request, "dashboard/no_workspace.html")


def _first_workspace(request: HttpRequest, tenant: Tenant) -> HttpResponseBase | None:
    workspaces = workspaces_of(principal_for_user(signed_in(request), tenant=tenant))
    if not workspaces:
        return None
    return redirect("dashboard_overview", tenant.slug, workspaces[0].slug)
