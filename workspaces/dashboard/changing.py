"""What all changes of memory by a person share: their outcome is told, and undone where it can be."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from holamem.errors import HolamemError, NotFound, PermissionDenied
from workspaces.dashboard.refusals import refusal


def told(request: HttpRequest, words: str, *, audit_id: UUID | None) -> None:
    """A message of success; with an audit entry it carries a button that undoes the change."""
    messages.success(request, words, extra_tags=str(audit_id) if audit_id else "")


def refused(request: HttpRequest, error: HolamemError) -> None:
    """The reason in plain words, above the page that comes next. Re-raises what has a page."""
    messages.error(request, reason_of(error))


def reason_of(error: HolamemError) -> str:
    """What is absent or forbidden as a whole keeps its own page: those errors go on."""
    if isinstance(error, PermissionDenied) or (isinstance(error, NotFound) and not error.field):
        raise error
    return refusal(error)


def first_problem(form: forms.Form) -> str:
    """One sentence for a form of one or two fields."""
    for problems in form.errors.values():
        return str(problems[0])
    return _("The form could not be read.")


def text_of(form: forms.Form, name: str) -> str:
    """A cleaned value as text; empty where the field was left out."""
    value: Any = form.cleaned_data.get(name)
    return "" if value is None else str(value)


def typed(request: HttpRequest, name: str) -> str:
    """What a person wrote into a field, to show it again; a page holds no null characters."""
    return request.POST.get(name, "").replace("\x00", "")
