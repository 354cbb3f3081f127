"""Page: the history of the hot layer. It is read here and nowhere else, and never changed."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

from agents.dashboard.reads import shown_json
from agents.hot.history import list_history, verify_chain
from agents.models.hot_memory import HistoryEntry
from workspaces.dashboard.page import Place, render_page, workspace_page

SHOWN_ENTRIES = 50


@dataclass(frozen=True, slots=True)
class HistoryRow:
    entry: HistoryEntry
    payload: str
    is_cut: bool


@workspace_page
def history_list(request: HttpRequest, place: Place) -> HttpResponse:
    """With `check=yes` an admin has the chain of hashes computed again, entry by entry."""
    before = request.GET.get("before", "")
    entries = list_history(
        place.workspace,
        scopes=place.scopes,
        before=int(before) if before.isascii() and before.isdigit() else None,
        limit=SHOWN_ENTRIES + 1,
    )
    is_checked = place.can_manage and request.GET.get("check") == "yes"
    shown = entries[:SHOWN_ENTRIES]
    return render_page(
        request,
        "dashboard/history.html",
        place,
        section="text",
        tab="history",
        rows=[HistoryRow(entry, *shown_json(entry.payload)) for entry in shown],
        older=shown[-1].position if len(entries) > SHOWN_ENTRIES else None,
        is_checked=is_checked,
        broken=verify_chain(place.workspace)[:1] if is_checked else [],
    )
