"""Page: how the memory moved in the last weeks, as charts with tables behind them."""

from django.http import HttpRequest, HttpResponse

from retrieval.dashboard.activity_reads import asked_per_day
from workspaces.dashboard.charts import draw_bars, draw_pairs
from workspaces.dashboard.grids import draw_ages, draw_week
from workspaces.dashboard.lines import draw_lines, top_of_times
from workspaces.dashboard.page import Place, render_page, workspace_page
from workspaces.dashboard.zones import zone_of
from workspaces.services.activity import workspace_activity


@workspace_page
def activity(request: HttpRequest, place: Place) -> HttpResponse:
    workspace, scopes = place.workspace, place.scopes
    zone = zone_of(request, workspace)
    moved = workspace_activity(workspace, scopes=scopes, zone=zone)
    asked = asked_per_day(workspace, scopes=scopes, zone=zone)
    coverage = [[day.coverage for day in asked.questions]]
    waits = [[day.middle for day in moved.waits], [day.slow for day in moved.waits]]
    return render_page(
        request,
        "dashboard/activity.html",
        place,
        section="overview",
        tab="activity",
        asked=asked,
        moved=moved,
        coverage=draw_lines(coverage, top_value=1.0),
        gaps=draw_pairs(asked.opened, asked.closed),
        gap_days=list(zip(asked.opened, asked.closed, strict=True)),
        seals=draw_bars(moved.seals),
        week=draw_week(moved.written),
        hours=list(enumerate(zip(*moved.written, strict=True))),
        waits=draw_lines(waits, top_value=top_of_times(waits)),
        ages=draw_ages(moved.trees),
    )
