"""Page: the settings of a workspace, each with what it does and the range that is safe."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Any, Literal, get_args, get_origin

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.fields import FieldInfo

from holamem.clock import is_known_zone
from holamem.errors import InvalidInput
from workspaces.dashboard.changing import told
from workspaces.dashboard.forms import MAX_NAME, NameField, refuse_unprintable
from workspaces.dashboard.page import Place, render_page, workspace_form
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import update_workspace
from workspaces.settings import WorkspaceSettings

# The label of each setting, and what it does.
EXPLAINED: dict[str, tuple[Promise | str, Promise | str]] = {
    "admission_threshold": (
        gettext_lazy("Admission threshold"),
        gettext_lazy("How sure the judge must be that a piece of text is worth keeping."),
    ),
    "match_threshold": (
        gettext_lazy("Match threshold"),
        gettext_lazy("How sure it must be that a leaf belongs to a known entity."),
    ),
    "create_threshold": (
        gettext_lazy("Creation threshold"),
        gettext_lazy("How sure it must be before it makes a new entity. Below: uncategorized."),
    ),
    "seal_threshold": (
        gettext_lazy("Leaves of a summary"),
        gettext_lazy("So many nodes without a parent are sealed into one summary above them."),
    ),
    "time_zone": (
        gettext_lazy("Time zone"),
        gettext_lazy("Days and times of this workspace follow it, such as Asia/Shanghai."),
    ),
    "languages": (
        gettext_lazy("Languages"),
        gettext_lazy("What people and agents write here."),
    ),
    "user_id": (
        gettext_lazy("End user of an event"),
        gettext_lazy("If required, an event that names no end user is refused."),
    ),
    "retention_days": (
        gettext_lazy("Days that raw text is kept"),
        gettext_lazy("Then the text of an event is removed. Leaves made from it stay."),
    ),
    "distillation_hour": (
        gettext_lazy("Hour of the nightly distillation"),
        gettext_lazy("From this hour on, in its time zone, the day's sessions are distilled."),
    ),
}


def setting_field(name: str, info: FieldInfo) -> forms.Field:
    """The form's field of one setting, with the range that the model has for it."""
    label, text = EXPLAINED.get(name, (name.replace("_", " "), ""))
    said: dict[str, Any] = {"label": label, "help_text": text}
    kind = info.annotation
    if kind is bool:
        return forms.BooleanField(required=False, **said)
    if get_origin(kind) is Literal:
        return forms.ChoiceField(choices=_choices(kind), **said)
    if isinstance(kind, GenericAlias) and get_origin(kind) is list:
        return forms.MultipleChoiceField(choices=_choices(get_args(kind)[0]), **said)
    if kind in (int, float):
        numeric = forms.IntegerField if kind is int else forms.FloatField
        return numeric(min_value=_bound(info, "ge"), max_value=_bound(info, "le"), **said)
    return forms.CharField(max_length=MAX_NAME, validators=[refuse_unprintable], **said)


def _choices(kind: Any) -> list[tuple[str, str]]:
    return [(str(value), str(value)) for value in get_args(kind)]


def _bound(info: FieldInfo, name: str) -> Any:
    return next((getattr(item, name) for item in info.metadata if hasattr(item, name)), None)


class SettingsForm(forms.Form):
    name = NameField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].label = _("Name of the workspace")
        for name, info in WorkspaceSettings.model_fields.items():
            self.fields[name] = setting_field(name, info)

    def clean_time_zone(self) -> str:
        zone = str(self.cleaned_data["time_zone"])
        if not is_known_zone(zone):
            raise ValidationError(_("This time zone is not known. One is Asia/Shanghai."))
        return zone


@dataclass(frozen=True, slots=True)
class SettingRow:
    """`widget` is number, list, choice, tick or text; `low` and `high` are None without a range."""

    name: str
    label: str
    help: str
    widget: str
    value: Any
    choices: list[tuple[str, str]]
    low: Any
    high: Any
    step: str
    default: Any
    problems: list[str]


@workspace_form
def settings(request: HttpRequest, place: Place) -> HttpResponse:
    place.require_admin()
    if request.method != "POST":
        return _show(request, place, SettingsForm(initial=_current(place.workspace)))
    form = SettingsForm(request.POST)
    if not form.is_valid():
        return _show(request, place, form)
    try:
        _save(place, form.cleaned_data)
    except InvalidInput as error:
        form.add_error((error.field or "").removeprefix("settings.") or None, error.message)
        return _show(request, place, form)
    told(request, _("The settings are saved."), audit_id=None)
    return redirect(place.address("dashboard_settings"))


def _save(place: Place, data: Mapping[str, Any]) -> None:
    """Only what differs: what was never set keeps following the default."""
    workspace = place.workspace
    now_set = _current(workspace)
    changed = {
        name: data[name] for name in WorkspaceSettings.model_fields if data[name] != now_set[name]
    }
    name = str(data["name"])
    update_workspace(
        workspace,
        name=name if name != workspace.name else None,
        settings=changed or None,
        principal=place.principal,
    )


def _current(workspace: Workspace) -> dict[str, Any]:
    return {"name": workspace.name, **workspace.preferences.model_dump(mode="json")}


def _show(request: HttpRequest, place: Place, form: SettingsForm) -> HttpResponse:
    return render_page(
        request,
        "dashboard/settings.html",
        place,
        section="settings",
        tab="settings",
        form=form,
        rows=[_row(form, name) for name in form.fields],
        has_problems=bool(form.errors),
    )


def _row(form: SettingsForm, name: str) -> SettingRow:
    field, bound = form.fields[name], form[name]
    info = WorkspaceSettings.model_fields.get(name)
    return SettingRow(
        name=name,
        label=str(field.label),
        help=str(field.help_text),
        widget=_widget(field),
        value=bound.value(),
        choices=[(value, value) for value, _label in getattr(field, "choices", [])],
        low=getattr(field, "min_value", None),
        high=getattr(field, "max_value", None),
        step="0.01" if isinstance(field, forms.FloatField) else "1",
        default=info.get_default() if info is not None else None,
        problems=[str(problem) for problem in bound.errors],
    )


def _widget(field: forms.Field) -> str:
    for kind, widget in (
        (forms.BooleanField, "tick"),
        (forms.MultipleChoiceField, "list"),
        (forms.ChoiceField, "choice"),
        (forms.IntegerField, "number"),
    ):
        if isinstance(field, kind):
            return widget
    return "text"
