"""Erasing a leaf: what would go, the request, and the receipt."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from holamem.errors import HolamemError
from workspaces.dashboard.changing import (
    first_problem,
    refused,
    text_of,
    told,
)
from workspaces.dashboard.forms import EraseForm
from workspaces.dashboard.page import Place, render_page, workspace_form, workspace_page
from workspaces.models.erasure import Erasure
from workspaces.services.erasure.receipts import Receipt, receipt
from workspaces.services.erasure.request import erase_leaf, preview_erasure
from workspaces.services.node_view import node_view

# In the order of the receipt; the last ones are known when it is complete.
COUNTS = ("leaves", "events", "chunks", "summaries", "bodies", "entries")
NAMES = {"bodies": "bodies_erased"}  # where the word for a count is not its field's
LATE_COUNTS = ("links", "entities", "retrievals")


@workspace_form
def erase(request: HttpRequest, place: Place, node_id: UUID) -> HttpResponse:
    """GET lists what goes and asks for the word; POST with the word erases."""
    place.require_write()
    if request.method == "GET":
        return _ask(request, place, node_id, EraseForm())
    form = EraseForm(request.POST)
    if not form.is_valid():
        return _ask(request, place, node_id, form, problem=first_problem(form))
    try:
        done = erase_leaf(
            place.workspace,
            principal=place.principal,
            scopes=place.scopes,
            leaf_id=node_id,
            reason=text_of(form, "reason"),
            only_this=bool(form.cleaned_data["only_this"]),
        )
    except HolamemError as error:
        refused(request, error)
        return redirect(place.address("dashboard_node", node_id))
    told(request, _("Nobody can read or find it from now on."), audit_id=None)
    return redirect(place.address("dashboard_erasure", done.erasure_id))


def _ask(
    request: HttpRequest, place: Place, node_id: UUID, form: EraseForm, *, problem: str = ""
) -> HttpResponse:
    alone, whole = (
        preview_erasure(place.workspace, scopes=place.scopes, leaf_id=node_id, only_this=only_this)
        for only_this in (True, False)
    )
    return render_page(
        request,
        "dashboard/erase.html",
        place,
        section="trees",
        view=node_view(place.workspace, scopes=place.scopes, node_id=node_id),
        going=list(zip(("leaves", "summaries"), whole, alone, strict=True)),
        form=form,
        problem=problem,
        erase_word=_("erase"),
    )


@workspace_page
def erasure(request: HttpRequest, place: Place, erasure_id: UUID) -> HttpResponse:
    found = receipt(place.workspace, scopes=place.scopes, erasure_id=erasure_id)
    is_complete = found.status == Erasure.Status.COMPLETE
    return render_page(
        request,
        "dashboard/erasure.html",
        place,
        section="trees",
        receipt=found,
        is_complete=is_complete,
        counts=_counts(found, is_complete=is_complete),
    )


def _counts(found: Receipt, *, is_complete: bool) -> list[tuple[str, int]]:
    names = COUNTS + LATE_COUNTS if is_complete else COUNTS
    return [(NAMES.get(name, name), getattr(found, name)) for name in names]
