"""Pages of gaps: what agents asked for and memory lacked, and saying it."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from holamem.errors import Conflict, HolamemError
from retrieval.dashboard.reads import answer_of, gap_counts, list_gap_rows
from retrieval.filling import close_with, fill_gap, filling_of, owner_of
from retrieval.gaps import dismiss_gap, get_gap
from retrieval.models import Gap
from workspaces.dashboard.changing import first_problem, reason_of, text_of, typed
from workspaces.dashboard.forms import CorrectForm
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


@workspace_page
def gap(request: HttpRequest, place: Place, gap_id: UUID) -> HttpResponse:
    return _show(request, place, gap_id)


def _show(
    request: HttpRequest, place: Place, gap_id: UUID, *, text: str = "", problem: str = ""
) -> HttpResponse:
    workspace, scopes = place.workspace, place.scopes
    found = get_gap(workspace, scopes=scopes, gap_id=gap_id)
    filling = filling_of(workspace, scopes=scopes, gap_id=gap_id)
    is_open = found.status == Gap.Status.OPEN
    return render_page(
        request,
        "dashboard/gap.html",
        place,
        section="gaps",
        gap=found,
        owner=owner_of(workspace, gap=found),
        filling=filling,
        is_moving=is_open and filling is not None and not filling.is_done,
        answer=answer_of(workspace, scopes=scopes, gap=found),
        text=text,
        problem=problem,
    )


@workspace_action
def fill(request: HttpRequest, place: Place, gap_id: UUID) -> HttpResponse:
    """The missing fact becomes an event; what was typed is shown again when it is refused."""
    place.require_write()
    form = CorrectForm(request.POST)
    text = typed(request, "text")
    if not form.is_valid():
        return _show(request, place, gap_id, text=text, problem=first_problem(form))
    try:
        fill_gap(
            place.workspace,
            principal=place.principal,
            scopes=place.scopes,
            gap_id=gap_id,
            text=text_of(form, "text"),
        )
    except HolamemError as error:
        return _show(request, place, gap_id, text=text, problem=reason_of(error))
    messages.success(request, _("The fact is written down; its leaf closes the gap."))
    return redirect(place.address("dashboard_gap", gap_id))


@workspace_action
def close(request: HttpRequest, place: Place, gap_id: UUID) -> HttpResponse:
    """With the leaf that said the same before."""
    place.require_write()
    if close_with(place.workspace, scopes=place.scopes, gap_id=gap_id):
        messages.success(request, _("The gap is closed with this leaf."))
    else:
        messages.error(request, _("The gap has been closed meanwhile; nothing was changed."))
    return redirect(place.address("dashboard_gap", gap_id))


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
