"""Page: what was made of sessions' tool results, what was dropped, and what waits for a service."""

from django.http import HttpRequest, HttpResponse

from agents.distill.backlog import backlog_of
from agents.models.distillation import Distillation
from holamem.database.scope import workspace_scope
from workspaces.dashboard.page import (
    Place,
    page_number,
    query_without_page,
    render_page,
    workspace_page,
)
from workspaces.services.circuits import circuits_of
from workspaces.services.paging import Page, read_page


@workspace_page
def distillation_list(request: HttpRequest, place: Place) -> HttpResponse:
    return render_page(
        request,
        "dashboard/distillations.html",
        place,
        section="text",
        tab="distillations",
        backlog=backlog_of(place.workspace, scopes=place.scopes),
        circuits=[item for item in circuits_of(place.workspace) if item.state != "closed"],
        passes=passes_of(place, page=page_number(request)),
        query=query_without_page(request),
    )


def passes_of(place: Place, *, page: int) -> Page[Distillation]:
    """Newest first, with their sessions."""
    with workspace_scope(place.workspace, place.scopes):
        rows = place.workspace.distillations.select_related("session")
        found = rows.defer("session__frozen_user_index", "session__frozen_workspace_index")
        return read_page(found.order_by("-id"), number=page)
