"""Page: the API keys of a tenant. A token is on the page that follows its making, and nowhere else."""

from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from holamem.errors import HolamemError
from workspaces.dashboard.changing import first_problem, reason_of, refused, text_of, told
from workspaces.dashboard.forms import NameField
from workspaces.dashboard.page import Place, render_page, workspace_action, workspace_page
from workspaces.models.tenancy import ApiKey
from workspaces.services.keys import (
    KEYS_PER_TENANT,
    NewKey,
    create_key,
    list_keys,
    retire_key,
    rotate_key,
)
from workspaces.services.listing import Slice

SHOWN_KEYS = 2 * KEYS_PER_TENANT  # the newest; the API lists older ones too


class KeyForm(forms.Form):
    name = NameField()
    permissions = forms.MultipleChoiceField(
        choices=[(value, value) for value in ApiKey.Permission.values]
    )
    whole_tenant = forms.BooleanField(required=False)
    user_id = NameField(required=False)
    expires_at = forms.DateTimeField(required=False)


@workspace_page
def key_list(request: HttpRequest, place: Place) -> HttpResponse:
    place.require_admin()
    return _show(request, place, KeyForm())


def _show(
    request: HttpRequest, place: Place, form: KeyForm, *, problem: str = "", token: str = ""
) -> HttpResponse:
    return render_page(
        request,
        "dashboard/keys.html",
        place,
        section="settings",
        keys=list_keys(place.principal, wanted=Slice(limit=SHOWN_KEYS)).rows,
        permissions=ApiKey.Permission.values,
        chosen=request.POST.getlist("permissions") if form.is_bound else ["memory:read"],
        form=form,
        problem=problem,
        token=token,
        tab="keys",
    )


@workspace_action
def key_create(request: HttpRequest, place: Place) -> HttpResponse:
    place.require_admin()
    form = KeyForm(request.POST)
    if not form.is_valid():
        return _show(request, place, form, problem=first_problem(form))
    wanted = NewKey(
        name=text_of(form, "name"),
        permissions=tuple(form.cleaned_data["permissions"]),
        workspace=None if form.cleaned_data["whole_tenant"] else place.workspace.slug,
        user_id=text_of(form, "user_id") or None,
        expires_at=form.cleaned_data["expires_at"],
    )
    try:
        made = create_key(place.principal, wanted=wanted)
    except HolamemError as error:
        return _show(request, place, form, problem=reason_of(error))
    return _show(request, place, KeyForm(), token=made.token)


@workspace_action
def key_rotate(request: HttpRequest, place: Place, key_id: UUID) -> HttpResponse:
    place.require_admin()
    try:
        made = rotate_key(place.principal, key_id=key_id)
    except HolamemError as error:
        refused(request, error)
        return redirect(place.address("dashboard_keys"))
    return _show(request, place, KeyForm(), token=made.token)


@workspace_action
def key_revoke(request: HttpRequest, place: Place, key_id: UUID) -> HttpResponse:
    place.require_admin()
    retire_key(place.principal, key_id=key_id)
    told(request, _("The key is revoked. No request is admitted with it."), audit_id=None)
    return redirect(place.address("dashboard_keys"))
