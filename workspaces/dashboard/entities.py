"""Pages: all entities, one entity with its names, and what a merge would move."""

from collections.abc import Callable
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from holamem.errors import HolamemError
from workspaces.dashboard.changing import (
    first_problem,
    reason_of,
    text_of,
    told,
)
from workspaces.dashboard.forms import MergeForm, NameForm, entity_types
from workspaces.dashboard.page import (
    Place,
    page_number,
    query_without_page,
    render_page,
    workspace_action,
    workspace_form,
    workspace_page,
)
from workspaces.models.entities import Entity
from workspaces.services.audit_view import changes_of
from workspaces.services.entities.changes import (
    EntityChanged,
    add_alias,
    remove_alias,
    rename_entity,
)
from workspaces.services.entities.merge import merge_entities
from workspaces.services.entity_view import (
    EntityFilter,
    EntityRow,
    entity_choices,
    entity_detail,
    entity_type_counts,
    list_entity_rows,
    merge_preview,
)

Change = Callable[[EntityRow, str], EntityChanged]


@workspace_page
def entity_list(request: HttpRequest, place: Place) -> HttpResponse:
    type_ = request.GET.get("type", "")
    wanted = EntityFilter(
        type=type_ if type_ in Entity.Type.values else "",
        search=request.GET.get("q", "").replace("\x00", "").strip()[:200],
    )
    number = page_number(request)
    return render_page(
        request,
        "dashboard/entities.html",
        place,
        section="entities",
        entities=list_entity_rows(place.workspace, scopes=place.scopes, wanted=wanted, page=number),
        wanted=wanted,
        types=entity_types(),
        counts=entity_type_counts(place.workspace, scopes=place.scopes),
        query=query_without_page(request),
    )


@workspace_page
def entity(request: HttpRequest, place: Place, entity_id: UUID) -> HttpResponse:
    return _show_entity(request, place, entity_id)


def _show_entity(
    request: HttpRequest, place: Place, entity_id: UUID, *, problem: str = ""
) -> HttpResponse:
    detail = entity_detail(place.workspace, scopes=place.scopes, entity_id=entity_id)
    can_change = place.can_write and detail.row.can_change
    return render_page(
        request,
        "dashboard/entity.html",
        place,
        section="entities",
        detail=detail,
        entity=detail.row,
        can_change=can_change,
        is_moving=any(merge.is_running for merge in detail.merges),
        choices=entity_choices(place.workspace, scope_id=detail.row.scope_id, without=entity_id)
        if can_change
        else [],
        changes=changes_of(place.workspace, scopes=place.scopes, target_id=entity_id),
        problem=problem,
    )


@workspace_action
def rename(request: HttpRequest, place: Place, entity_id: UUID) -> HttpResponse:
    def change(row: EntityRow, name: str) -> EntityChanged:
        return rename_entity(
            place.workspace,
            principal=place.principal,
            scopes=[row.scope_id],
            slug=row.slug,
            name=name,
        )

    return _change_name(request, place, entity_id, change, _("The entity has a new name."))


@workspace_action
def alias_add(request: HttpRequest, place: Place, entity_id: UUID) -> HttpResponse:
    def change(row: EntityRow, alias: str) -> EntityChanged:
        return add_alias(
            place.workspace,
            principal=place.principal,
            scopes=[row.scope_id],
            slug=row.slug,
            alias=alias,
        )

    return _change_name(request, place, entity_id, change, _("The alias leads to this entity."))


@workspace_action
def alias_remove(request: HttpRequest, place: Place, entity_id: UUID) -> HttpResponse:
    def change(row: EntityRow, alias: str) -> EntityChanged:
        return remove_alias(
            place.workspace,
            principal=place.principal,
            scopes=[row.scope_id],
            slug=row.slug,
            alias=alias,
        )

    return _change_name(request, place, entity_id, change, _("The alias is removed."))


def _change_name(
    request: HttpRequest, place: Place, entity_id: UUID, change: Change, done: str
) -> HttpResponse:
    """One name in, one change made; a refusal shows the page again with its reason."""
    place.require_write()
    row = entity_detail(place.workspace, scopes=place.scopes, entity_id=entity_id).row
    form = NameForm(request.POST)
    if not form.is_valid():
        return _refused_form(request, place, entity_id, form)
    try:
        changed = change(row, text_of(form, "name"))
    except HolamemError as error:
        return _show_entity(request, place, entity_id, problem=reason_of(error))
    words = done if changed.audit_id else _("It was so already; nothing was changed.")
    told(request, words, audit_id=changed.audit_id)
    return redirect(place.address("dashboard_entity", entity_id))


def _refused_form(
    request: HttpRequest, place: Place, entity_id: UUID, form: forms.Form
) -> HttpResponse:
    return _show_entity(request, place, entity_id, problem=first_problem(form))


@workspace_form
def merge(request: HttpRequest, place: Place, entity_id: UUID) -> HttpResponse:
    """GET shows what would move; POST does it."""
    place.require_write()
    form = MergeForm(request.POST if request.method == "POST" else request.GET)
    if not form.is_valid():
        return _refused_form(request, place, entity_id, form)
    try:
        preview = merge_preview(
            place.workspace, scopes=place.scopes, entity_id=entity_id, into=text_of(form, "into")
        )
        if request.method == "GET":
            return render_page(
                request, "dashboard/merge.html", place, section="entities", preview=preview
            )
        changed = merge_entities(
            place.workspace,
            principal=place.principal,
            scopes=[preview.source.scope_id],
            slug=preview.source.slug,
            into=preview.target.slug,
        )
    except HolamemError as error:
        return _show_entity(request, place, entity_id, problem=reason_of(error))
    told(request, _("The entities are merged; the leaves follow."), audit_id=changed.audit_id)
    return redirect(place.address("dashboard_entity", preview.target.id))
