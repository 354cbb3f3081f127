"""Page: who changed what; and taking one of these changes back."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from holamem.errors import HolamemError
from workspaces.dashboard.changing import refused, told
from workspaces.dashboard.page import (
    Place,
    page_number,
    query_without_page,
    render_page,
    workspace_action,
    workspace_page,
)
from workspaces.services.audit_view import AuditRow, audit_actions, audit_row, list_audit_rows
from workspaces.services.corrections.undo import undo_change


@workspace_page
def audit_list(request: HttpRequest, place: Place) -> HttpResponse:
    actions = audit_actions(place.workspace, scopes=place.scopes)
    wanted = request.GET.get("action", "")
    chosen = wanted if wanted in actions else ""
    number = page_number(request)
    return render_page(
        request,
        "dashboard/audit.html",
        place,
        section="audit",
        entries=list_audit_rows(place.workspace, scopes=place.scopes, action=chosen, page=number),
        actions=actions,
        chosen=chosen,
        query=query_without_page(request),
    )


@workspace_action
def undo(request: HttpRequest, place: Place, audit_id: UUID) -> HttpResponse:
    """From the log back to the log; from elsewhere to what was changed."""
    place.require_write()
    entry = audit_row(place.workspace, scopes=place.scopes, audit_id=audit_id)
    leaf_id = entry.target_id
    try:
        done = undo_change(
            place.workspace, principal=place.principal, scopes=place.scopes, audit_id=audit_id
        )
    except HolamemError as error:
        refused(request, error)
    else:
        leaf_id = done.leaf_id
        told(request, _("The change is undone."), audit_id=None)
    return redirect(_after(place, entry, leaf_id, to_log=request.POST.get("after") == "audit"))


def _after(place: Place, entry: AuditRow, leaf_id: UUID | None, *, to_log: bool) -> str:
    if entry.kind == "entity" and not to_log:
        return place.address("dashboard_entity", entry.target_id)
    if entry.kind == "leaf" and not to_log:
        return place.address("dashboard_node", leaf_id)
    return place.address("dashboard_audit")
