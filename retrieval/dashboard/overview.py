"""The first page of a workspace."""

from django.http import HttpRequest, HttpResponse

from retrieval.dashboard.reads import gap_counts, recent_questions
from workspaces.dashboard.charts import draw_bars
from workspaces.dashboard.page import Place, render_page, workspace_page
from workspaces.dashboard.zones import zone_of
from workspaces.services.circuits import circuits_of
from workspaces.services.overview import workspace_overview


@workspace_page
def overview(request: HttpRequest, place: Place) -> HttpResponse:
    workspace, scopes = place.workspace, place.scopes
    numbers = workspace_overview(workspace, scopes=scopes, zone=zone_of(request, workspace))
    return render_page(
        request,
        "dashboard/overview.html",
        place,
        section="overview",
        overview=numbers,
        chart=draw_bars(numbers.per_day),
        open_gaps=gap_counts(workspace, scopes=scopes).get("open", 0),
        questions=recent_questions(workspace, scopes=scopes),
        circuits=[item for item in circuits_of(workspace) if item.state != "closed"],
    )
