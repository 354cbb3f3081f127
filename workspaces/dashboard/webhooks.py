"""Pages: the webhooks of a workspace. A secret is on the page that follows its making only."""

from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from holamem.errors import HolamemError
from holamem.outgoing import URL_CHARACTERS
from workspaces.dashboard.changing import first_problem, reason_of, refused, text_of, told
from workspaces.dashboard.forms import refuse_unprintable
from workspaces.dashboard.page import Place, render_page, workspace_action, workspace_page
from workspaces.models.webhooks import Webhook
from workspaces.services.listing import Slice
from workspaces.services.webhooks.hooks import (
    MAX_WEBHOOKS,
    create_webhook,
    delete_webhook,
    get_webhook,
    list_deliveries,
    list_webhooks,
    send_ping,
    update_webhook,
)

DELIVERIES_SHOWN = 25
EVENT_WORDS = {
    Webhook.EventType.LEAF_CREATED: gettext_lazy("a leaf is new"),
    Webhook.EventType.LEAF_SUPERSEDED: gettext_lazy("a newer leaf took the place of one"),
    Webhook.EventType.LEAF_ERASED: gettext_lazy("a leaf is erased"),
    Webhook.EventType.GAP_OPENED: gettext_lazy("a gap opened"),
    Webhook.EventType.GAP_CLOSED: gettext_lazy("a gap closed"),
    Webhook.EventType.JOB_PARKED: gettext_lazy("work is parked and needs a person"),
    Webhook.EventType.RUN_COMPLETED: gettext_lazy("a run has completed"),
    Webhook.EventType.RUN_FAILED: gettext_lazy("a run has failed"),
    Webhook.EventType.RUN_CANCELLED: gettext_lazy("a run was cancelled"),
    Webhook.EventType.APPROVAL_REQUIRED: gettext_lazy("a run waits for approval"),
}
SENTENCES = (
    gettext_noop("This webhook is switched off."),
    gettext_noop("A workspace has at most 20 webhooks."),
    gettext_noop("This is no address of printed ASCII characters."),
    gettext_noop("This is no address."),
    gettext_noop("An address with http or https is expected."),
    gettext_noop("The address must hold no credentials and no fragment."),
    gettext_noop("Only the ports 80 and 443 are allowed."),
)


class WebhookForm(forms.Form):
    url = forms.CharField(max_length=URL_CHARACTERS, validators=[refuse_unprintable])
    events = forms.MultipleChoiceField(
        required=False, choices=[(value, value) for value in Webhook.EventType.values]
    )


@workspace_page
def webhook_list(request: HttpRequest, place: Place) -> HttpResponse:
    place.require_admin()
    return _show_list(request, place, WebhookForm())


def _show_list(
    request: HttpRequest, place: Place, form: WebhookForm, *, problem: str = ""
) -> HttpResponse:
    return render_page(
        request,
        "dashboard/webhooks.html",
        place,
        section="settings",
        tab="webhooks",
        webhooks=list_webhooks(place.workspace, wanted=Slice(limit=MAX_WEBHOOKS)).rows,
        event_words=EVENT_WORDS.items(),
        chosen=request.POST.getlist("events") if form.is_bound else [],
        form=form,
        problem=problem,
    )


@workspace_action
def webhook_create(request: HttpRequest, place: Place) -> HttpResponse:
    place.require_admin()
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return _show_list(request, place, form, problem=first_problem(form))
    try:
        made = create_webhook(
            place.workspace,
            principal=place.principal,
            url=text_of(form, "url"),
            events=form.cleaned_data["events"],
        )
    except HolamemError as error:
        return _show_list(request, place, form, problem=reason_of(error))
    return _show_one(request, place, made.webhook, secret=made.secret)


@workspace_page
def webhook(request: HttpRequest, place: Place, webhook_id: UUID) -> HttpResponse:
    place.require_admin()
    return _show_one(request, place, get_webhook(place.workspace, webhook_id=webhook_id))


def _show_one(
    request: HttpRequest, place: Place, shown: Webhook, *, secret: str = ""
) -> HttpResponse:
    wanted = Slice(limit=DELIVERIES_SHOWN, after=_after(request))
    found = list_deliveries(place.workspace, webhook_id=shown.id, state=None, wanted=wanted)
    return render_page(
        request,
        "dashboard/webhook.html",
        place,
        section="settings",
        tab="webhooks",
        webhook=shown,
        told_of=[EVENT_WORDS[Webhook.EventType(name)] for name in shown.events],
        deliveries=found.rows,
        older=found.rows[-1].id if found.has_next else None,
        secret=secret,
    )


def _after(request: HttpRequest) -> UUID | None:
    try:
        return UUID(request.GET.get("after", ""))
    except ValueError:
        return None


@workspace_action
def webhook_ping(request: HttpRequest, place: Place, webhook_id: UUID) -> HttpResponse:
    place.require_admin()
    try:
        send_ping(place.workspace, webhook_id=webhook_id)
    except HolamemError as error:
        refused(request, error)
    else:
        told(request, _("A test message is on its way; look again in a moment."), audit_id=None)
    return redirect(place.address("dashboard_webhook", webhook_id))


@workspace_action
def webhook_switch(request: HttpRequest, place: Place, webhook_id: UUID) -> HttpResponse:
    """On with `enabled=yes`, else off."""
    place.require_admin()
    enabled = request.POST.get("enabled") == "yes"
    update_webhook(
        place.workspace,
        principal=place.principal,
        webhook_id=webhook_id,
        changes={"enabled": enabled},
    )
    words = _("The webhook is told again.") if enabled else _("The webhook is paused.")
    told(request, words, audit_id=None)
    return redirect(place.address("dashboard_webhook", webhook_id))


@workspace_action
def webhook_delete(request: HttpRequest, place: Place, webhook_id: UUID) -> HttpResponse:
    place.require_admin()
    delete_webhook(place.workspace, principal=place.principal, webhook_id=webhook_id)
    told(request, _("The webhook is deleted. It is told nothing more."), audit_id=None)
    return redirect(place.address("dashboard_webhooks"))
