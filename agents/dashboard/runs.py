"""What the buttons of a run do: cancel it, try it again, decide what it waits for."""

from collections.abc import Callable
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from agents.models.runs import Approval, Run
from agents.services.approvals import decide_approval, get_approval
from agents.services.resuming import resume_run
from agents.services.runs import cancel_run, get_run, retry_run
from holamem.errors import HolamemError
from workspaces.dashboard.changing import refused, told
from workspaces.dashboard.forms import MAX_REASON
from workspaces.dashboard.page import Place, workspace_action

DECISIONS = ("approved", "denied")


@workspace_action
def cancel(request: HttpRequest, place: Place, run_id: UUID) -> HttpResponse:
    def act(run: Run) -> str:
        cancel_run(place.workspace, run=run)
        return _("The run is being cancelled.")

    return _act_on(request, place, run_id=run_id, act=act)


@workspace_action
def retry(request: HttpRequest, place: Place, run_id: UUID) -> HttpResponse:
    """The same sentence with the same configuration, as a run of its own."""

    def act(run: Run) -> str:
        retry_run(place.workspace, run=run, started_by=place.principal)
        return _("The run is tried again.")

    return _act_on(request, place, run_id=run_id, act=act)


@workspace_action
def carry_on(request: HttpRequest, place: Place, run_id: UUID) -> HttpResponse:
    """Wakes a runner for a run that seems to have been left lying."""

    def act(run: Run) -> str:
        resume_run(place.workspace, scopes=place.scopes, run=run)
        return _("The run goes on as soon as a runner is free.")

    return _act_on(request, place, run_id=run_id, act=act)


def _act_on(
    request: HttpRequest, place: Place, *, run_id: UUID, act: Callable[[Run], str]
) -> HttpResponse:
    """Back to the conversation, with what `act` says or why it was refused."""
    place.require_run()
    run = get_run(place.workspace, scopes=place.scopes, run_id=run_id)
    try:
        told(request, act(run), audit_id=None)
    except HolamemError as error:
        refused(request, error)
    return redirect(place.address("dashboard_session", run.session_id))


@workspace_action
def decide(request: HttpRequest, place: Place, approval_id: UUID) -> HttpResponse:
    """All calls at once: by a button for all of them, or by the choice at each."""
    place.require_run()
    approval = get_approval(place.workspace, scopes=place.scopes, approval_id=approval_id)
    try:
        decided = decide_approval(
            place.workspace,
            scopes=place.scopes,
            approval_id=approval_id,
            decisions=_decisions(request, approval),
            scope=request.POST.get("scope", Approval.Scope.ONCE),
            principal=place.principal,
        )
    except HolamemError as error:
        refused(request, error)
    else:
        told(request, _words(decided), audit_id=None)
    if request.POST.get("after") == "attention":
        return redirect(place.address("dashboard_attention"))
    return redirect(place.address("dashboard_session", approval.session_id))


def _decisions(request: HttpRequest, approval: Approval) -> list[dict[str, str]]:
    """Those calls that a choice was made for; the domain names the ones that lack it."""
    for_all = request.POST.get("all", "")
    found = []
    for call_id in approval.tool_call_ids:
        status = for_all or request.POST.get(f"decision-{call_id}", "")
        if status in DECISIONS:
            reason = _reason(request.POST.get(f"reason-{call_id}", ""))
            found.append({"tool_call_id": str(call_id), "status": status, "reason": reason})
    return found


def _reason(text: str) -> str:
    """One line; what a browser's own field would not have sent is left out."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())[:MAX_REASON]


def _words(approval: Approval) -> str:
    if approval.status == Approval.Status.DENIED:
        return _("Denied. The agent is told so, and goes on without.")
    return _("Decided. What is approved runs once, with these arguments.")
