"""Pages: the members of a tenant, invitations by link, and accepting one."""

from uuid import UUID

from django import forms
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from holamem.errors import HolamemError, NotFound, PermissionDenied
from workspaces.dashboard.changing import first_problem, reason_of, refused, text_of, told
from workspaces.dashboard.forms import refuse_unprintable
from workspaces.dashboard.page import (
    Place,
    render_page,
    signed_in,
    workspace_action,
    workspace_page,
)
from workspaces.models.tenancy import Membership
from workspaces.services.invitations import (
    accept,
    accept_as_new,
    find_offer,
    invite,
    list_invitations,
    revoke_invitation,
)
from workspaces.services.members import (
    Manager,
    change_role,
    grantable_roles,
    list_members,
    remove_member,
)

MAX_USER_NAME = 150
MAX_PASSWORD = 128


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=[(role, role) for role in Membership.Role.values])


class NewAccountForm(forms.Form):
    name = forms.CharField(max_length=MAX_USER_NAME, validators=[refuse_unprintable])
    password = forms.CharField(max_length=MAX_PASSWORD, strip=False)


@workspace_page
def member_list(request: HttpRequest, place: Place) -> HttpResponse:
    place.require_admin()
    return _show(request, place)


def _show(request: HttpRequest, place: Place, *, link: str = "") -> HttpResponse:
    manager = _manager(request, place)
    return render_page(
        request,
        "dashboard/members.html",
        place,
        section="settings",
        members=list_members(manager),
        invitations=list_invitations(manager),
        roles=grantable_roles(manager),
        link=link,
        tab="members",
    )


@workspace_action
def member_invite(request: HttpRequest, place: Place) -> HttpResponse:
    """The page with the link, which no other page can show."""
    place.require_admin()
    form = RoleForm(request.POST)
    if not form.is_valid():
        return redirect(place.address("dashboard_members"))
    try:
        made = invite(_manager(request, place), role=text_of(form, "role"))
    except HolamemError as error:
        refused(request, error)
        return redirect(place.address("dashboard_members"))
    return _show(request, place, link=request.build_absolute_uri(f"/invitation/{made.token}/"))


@workspace_action
def member_role(request: HttpRequest, place: Place, member_id: UUID) -> HttpResponse:
    place.require_admin()
    form = RoleForm(request.POST)
    if form.is_valid():
        try:
            change_role(_manager(request, place), member_id=member_id, role=text_of(form, "role"))
        except HolamemError as error:
            refused(request, error)
        else:
            told(request, _("The role is changed."), audit_id=None)
    return _after(request, place)


@workspace_action
def member_remove(request: HttpRequest, place: Place, member_id: UUID) -> HttpResponse:
    place.require_admin()
    try:
        remove_member(_manager(request, place), member_id=member_id)
    except HolamemError as error:
        refused(request, error)
    else:
        told(request, _("The member is removed."), audit_id=None)
    return _after(request, place)


def _after(request: HttpRequest, place: Place) -> HttpResponse:
    """Who lowered the own role, or left, may not see this page any more."""
    try:
        list_members(_manager(request, place))
    except PermissionDenied:
        return redirect("dashboard_home")
    return redirect(place.address("dashboard_members"))


@workspace_action
def invitation_revoke(request: HttpRequest, place: Place, invitation_id: UUID) -> HttpResponse:
    place.require_admin()
    revoke_invitation(_manager(request, place), invitation_id=invitation_id)
    told(request, _("The invitation is revoked."), audit_id=None)
    return redirect(place.address("dashboard_members"))


def _manager(request: HttpRequest, place: Place) -> Manager:
    return Manager(place.principal, signed_in(request))


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """For who has the link: with an account that is signed in, or with a new one."""
    try:
        offer = find_offer(token)
        form = NewAccountForm(request.POST if request.method == "POST" else None)
        problem = _accepted(request, token, form) if request.method == "POST" else ""
    except NotFound as error:
        raise Http404(error.message) from error
    if problem is None:
        return redirect("dashboard_tenant", offer.tenant_slug)
    context = {"offer": offer, "form": form, "problem": problem}
    status = 400 if problem else 200
    response = render(request, "dashboard/invitation.html", context, status=status)
    response["Referrer-Policy"] = "no-referrer"  # the address is the secret
    return response


def _accepted(request: HttpRequest, token: str, form: forms.Form) -> str | None:
    """None when it is; else why not."""
    try:
        if request.user.is_authenticated:
            accept(token, user=signed_in(request))
            return None
        if not form.is_valid():
            return first_problem(form)
        name, password = text_of(form, "name"), text_of(form, "password")
        login(request, accept_as_new(token, name=name, password=password))
    except HolamemError as error:
        return reason_of(error)
    return None
