"""Sign-in, sign-out, and the way from an address without a workspace to one with."""

import hashlib
import logging
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView, LogoutView
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from workspaces.dashboard.page import signed_in
from workspaces.models.tenancy import Tenant
from workspaces.services.members import record_sign_in
from workspaces.services.principals import principal_for_user, tenants_of, workspaces_of

logger = logging.getLogger(__name__)

MAX_FAILURES = 10  # in each web process
# Of a name from an address, of a name from anywhere, of an address with any name: how long the
# failures count. A stranger who guesses keeps nobody out for more than a minute.
WINDOWS = {"both": 900, "name": 60, "address": 60}


class SignIn(LoginView):
    """Django's form; after ten failures who failed has to wait."""

    template_name = "dashboard/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        full = [kind for kind, key in _failure_keys(request) if cache.get(key, 0) >= MAX_FAILURES]
        if full:
            form = self.get_form_class()(request)
            context = {"form": form, "problem": _wait("both" in full)}
            response = render(request, self.template_name, context, status=429)
            response["Retry-After"] = str(max(WINDOWS[kind] for kind in full))
            return response
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        record_sign_in(form.get_user())
        return super().form_valid(form)

    def form_invalid(self, form: Any) -> HttpResponse:
        """Logged without a name, and in no tenant's own log: that would take time that tells."""
        logger.warning("sign_in.failed")
        for kind, key in _failure_keys(self.request):
            cache.add(key, 0, WINDOWS[kind])
            cache.incr(key)
        return super().form_invalid(form)


def _wait(is_long: bool) -> str:
    if is_long:
        return _("Too many attempts. Try again in 15 minutes.")
    return _("Too many attempts. Try again in a minute.")


def _failure_keys(request: HttpRequest) -> list[tuple[str, str]]:
    """Hashed, since a name may hold what a cache key may not."""
    name = request.POST.get("username", "").casefold()
    address = request.META.get("REMOTE_ADDR", "")
    counted = {"both": f"{name}|{address}", "name": name, "address": address}
    return [
        (kind, f"sign-in:{kind}:" + hashlib.sha256(who.encode("utf-8", "replace")).hexdigest())
        for kind, who in counted.items()
    ]


class SignOut(LogoutView):
    http_method_names = ["post"]


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponseBase:
    """The first workspace of the person's first tenant that has one."""
    for tenant in tenants_of(signed_in(request)):
        address = _first_workspace(request, tenant)
        if address is not None:
            return address
    return render(request, "dashboard/no_workspace.html")


@require_safe
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
