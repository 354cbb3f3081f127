"""Page: how a program reaches this memory, ticked off as it does."""

from django.http import HttpRequest, HttpResponse

from retrieval.dashboard.reads import first_steps
from retrieval.dashboard.snippets import snippets_for
from workspaces.dashboard.page import Place, render_page, workspace_page


@workspace_page
def connect(request: HttpRequest, place: Place) -> HttpResponse:
    address = request.build_absolute_uri("/").rstrip("/")
    steps = first_steps(place.workspace, scopes=place.scopes)
    return render_page(
        request,
        "dashboard/connect.html",
        place,
        section="connect",
        address=address,
        snippets=snippets_for(address=address, workspace=place.workspace.slug),
        steps=steps,
    )
