"""The page of gaps: what agents asked for and memory lacked."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from holamem.errors import Conflict
from retrieval.dashboard.reads import gap_counts, list_gap_rows
from retrieval.gaps import dismiss_gap
from retrieval.models import Gap
from workspaces.dashboard.page import (
    Place,
    page_number,
    query_without_page,
    render_page,
    workspace_action,
    workspace_page,
)


@workspace_page
def gap_list(request: HttpRequest, place: Place) -> HttpResponse:
    wanted = request.GET.get("status", "")
    status = wanted if wanted in Gap.Status.values else Gap.Status.OPEN.value
    number = page_number(request)
    return render_page(
        request,
        "dashboard/gaps.html",
        place,
        section="gaps",
        gaps=list_gap_rows(place.workspace, scopes=place.scopes, status=status, page=number),
        counts=gap_counts(place.workspace, scopes=place.scopes),
        options=Gap.Status.values,
        chosen=status,
        query=query_without_page(request),
    )


@workspace_action
def dismiss(request: HttpRequest, place: Place, gap_id: UUID) -> HttpResponse:
    place.require_write()
    try:
        dismiss_gap(place.workspace, scopes=place.scopes, gap_id=gap_id)
    except Conflict:
        messages.error(request, _("The gap has been closed meanwhile; nothing was changed."))
    else:
        messages.success(request, _("The gap is dismissed. It opens again when it is asked again."))
    return redirect(place.address("dashboard_gaps"))
