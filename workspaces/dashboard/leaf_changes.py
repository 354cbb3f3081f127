"""What a person may do to one leaf: correct, move, forget and restore it."""

from collections.abc import Callable
from functools import wraps
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from holamem.errors import HolamemError, NotFound
from workspaces.dashboard.changing import (
    first_problem,
    reason_of,
    refused,
    text_of,
    told,
    typed,
)
from workspaces.dashboard.forms import CorrectForm, MoveForm
from workspaces.dashboard.leaf_forms import Typed
from workspaces.dashboard.page import Place, workspace_action
from workspaces.dashboard.trees import show_node
from workspaces.services.corrections.changes import Changed, Moved
from workspaces.services.corrections.correct import correct_leaf
from workspaces.services.corrections.forget import forget_leaf, restore_leaf
from workspaces.services.corrections.leaf_state import is_erased
from workspaces.services.corrections.move import move_leaf
from workspaces.services.entity_view import named_entity
from workspaces.services.leaf_options import leaf_options
from workspaces.services.placement import NewEntityPlan

LeafView = Callable[..., HttpResponse]


def tells_of_erasure(view: LeafView) -> LeafView:
    """A leaf that was erased since its page was opened: said above its receipt, not a bare 404."""

    @wraps(view)
    def told_of(request: HttpRequest, place: Place, node_id: UUID) -> HttpResponse:
        try:
            return view(request, place, node_id)
        except NotFound:
            if not is_erased(place.workspace, scopes=place.scopes, leaf_id=node_id):
                raise
        messages.error(request, _("This leaf was erased meanwhile. Nothing was changed."))
        return redirect(place.address("dashboard_node", node_id))

    return told_of


@workspace_action
@tells_of_erasure
def correct(request: HttpRequest, place: Place, node_id: UUID) -> HttpResponse:
    """What was typed is shown again when it is refused."""
    place.require_write()
    form = CorrectForm(request.POST)
    text = typed(request, "text")
    if not form.is_valid():
        again = Typed("correct", first_problem(form), text=text)
        return show_node(request, place, node_id, typed=again)
    try:
        done = correct_leaf(
            place.workspace,
            principal=place.principal,
            scopes=place.scopes,
            leaf_id=node_id,
            text=text_of(form, "text"),
        )
    except HolamemError as error:
        again = Typed("correct", reason_of(error), text=text)
        return show_node(request, place, node_id, typed=again)
    told(request, _("The leaf is corrected; this is the new one."), audit_id=done.audit_id)
    return redirect(place.address("dashboard_node", done.leaf_id))


@workspace_action
@tells_of_erasure
def move(request: HttpRequest, place: Place, node_id: UUID) -> HttpResponse:
    place.require_write()
    form = MoveForm(request.POST)
    if not form.is_valid():
        again = _typed_move(request, first_problem(form))
        return show_node(request, place, node_id, typed=again)
    try:
        done = _move(place, node_id, form)
    except HolamemError as error:
        again = _typed_move(request, reason_of(error))
        return show_node(request, place, node_id, typed=again)
    words = (
        _("The other tree says the same already; that leaf takes over where it came from.")
        if done.is_linked
        else _("The leaf is moved; this is its new place.")
    )
    told(request, words, audit_id=done.audit_id)
    return redirect(place.address("dashboard_node", done.leaf_id))


def _move(place: Place, node_id: UUID, form: MoveForm) -> Moved:
    """A known entity is one of the leaf's own scope, by slug, name or alias."""
    scope_id = leaf_options(place.workspace, scopes=place.scopes, leaf_id=node_id).scope_id
    known, name = text_of(form, "entity"), text_of(form, "new_name")
    return move_leaf(
        place.workspace,
        principal=place.principal,
        scopes=place.scopes,
        leaf_id=node_id,
        entity_slug=named_entity(place.workspace, scope_id=scope_id, text=known).slug
        if known
        else None,
        new_entity=NewEntityPlan(type=text_of(form, "new_type"), name=name) if name else None,
    )


def _typed_move(request: HttpRequest, problem: str) -> Typed:
    return Typed(
        "move",
        problem,
        entity=typed(request, "entity"),
        new_name=typed(request, "new_name"),
        new_type=typed(request, "new_type"),
    )


@workspace_action
@tells_of_erasure
def forget(request: HttpRequest, place: Place, node_id: UUID) -> HttpResponse:
    words = _("The leaf is forgotten. Agents no longer find it.")
    return _change(request, place, node_id, forget_leaf, words)


@workspace_action
@tells_of_erasure
def restore(request: HttpRequest, place: Place, node_id: UUID) -> HttpResponse:
    return _change(request, place, node_id, restore_leaf, _("The leaf is restored."))


def _change(
    request: HttpRequest,
    place: Place,
    node_id: UUID,
    change: Callable[..., Changed],
    words: str,
) -> HttpResponse:
    place.require_write()
    try:
        done = change(
            place.workspace, principal=place.principal, scopes=place.scopes, leaf_id=node_id
        )
    except HolamemError as error:
        refused(request, error)
    else:
        told(request, words, audit_id=done.audit_id)
    return redirect(place.address("dashboard_node", node_id))
