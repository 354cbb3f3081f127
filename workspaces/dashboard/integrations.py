"""Page: connected sources, how far each was read, and connecting a folder of markdown."""

from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from holamem.errors import HolamemError
from workspaces.connectors.roots import allowed_roots
from workspaces.dashboard.changing import (
    first_problem,
    reason_of,
    refused,
    text_of,
    told,
)
from workspaces.dashboard.forms import FolderForm, sync_intervals
from workspaces.dashboard.page import (
    Place,
    page_number,
    query_without_page,
    render_page,
    workspace_action,
    workspace_page,
)
from workspaces.services.integration_view import ConnectorRow, connector_of, list_connector_rows
from workspaces.services.integrations.connectors import (
    create_connector,
    disable_connector,
    request_sync,
)

KIND = "markdown_folder"
PROVIDER = "markdown"  # of every folder that is connected on this page


@workspace_page
def integration_list(request: HttpRequest, place: Place) -> HttpResponse:
    return _show(request, place, FolderForm())


def _show(
    request: HttpRequest, place: Place, form: forms.Form, *, problem: str = ""
) -> HttpResponse:
    found = list_connector_rows(place.workspace, scopes=place.scopes, page=page_number(request))
    return render_page(
        request,
        "dashboard/integrations.html",
        place,
        section="integrations",
        connectors=found,
        is_moving=any(row.is_moving for row in found.rows),
        has_roots=bool(allowed_roots(place.tenant.slug)),
        intervals=sync_intervals(),
        form=form,
        problem=problem,
        query=query_without_page(request),
    )


@workspace_action
def add(request: HttpRequest, place: Place) -> HttpResponse:
    """Connects the folder and asks for its first pass."""
    place.require_write()
    form = FolderForm(request.POST)
    if not form.is_valid():
        problem = first_problem(form)
        return _show(request, place, form, problem=problem)
    try:
        made = create_connector(
            place.workspace,
            principal=place.principal,
            provider=PROVIDER,
            account=text_of(form, "account"),
            kind=KIND,
            settings={"path": text_of(form, "path")},
            interval_minutes=form.cleaned_data["interval"],
        )
        _sync(place, provider=made.provider, account=made.account)
    except HolamemError as error:
        return _show(request, place, form, problem=reason_of(error))
    told(request, _("The folder is connected; its first sync is queued."), audit_id=None)
    return redirect(place.address("dashboard_integrations"))


def _sync(place: Place, *, provider: str, account: str, allow_deletions: bool = False) -> None:
    request_sync(
        place.workspace,
        principal=place.principal,
        scopes=place.scopes,
        provider=provider,
        account=account,
        allow_deletions=allow_deletions,
    )


@workspace_action
def sync(request: HttpRequest, place: Place, connector_id: UUID) -> HttpResponse:
    """With `allow_deletions` the person says that what is gone is meant to be gone."""
    row = _row(place, connector_id)
    confirmed = request.POST.get("allow_deletions") == "yes"
    try:
        _sync(place, provider=row.provider, account=row.account, allow_deletions=confirmed)
    except HolamemError as error:
        refused(request, error)
    else:
        told(request, _("The sync is queued."), audit_id=None)
    return redirect(place.address("dashboard_integrations"))


@workspace_action
def stop(request: HttpRequest, place: Place, connector_id: UUID) -> HttpResponse:
    row = _row(place, connector_id)
    try:
        disable_connector(
            place.workspace,
            principal=place.principal,
            scopes=place.scopes,
            provider=row.provider,
            account=row.account,
        )
    except HolamemError as error:
        refused(request, error)
    else:
        told(request, _("The source is stopped. What it brought is kept."), audit_id=None)
    return redirect(place.address("dashboard_integrations"))


def _row(place: Place, connector_id: UUID) -> ConnectorRow:
    place.require_write()
    return connector_of(place.workspace, scopes=place.scopes, connector_id=connector_id)
