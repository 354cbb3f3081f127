"""Pages: the ingest log and the job ledger, with retry and cancel."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from holamem.errors import Conflict
from workspaces.dashboard.page import (
    Place,
    page_number,
    query_without_page,
    render_page,
    workspace_action,
    workspace_page,
)
from workspaces.models.jobs import Job
from workspaces.models.log import Chunk, Event
from workspaces.services.jobs import cancel_job, retry_job
from workspaces.services.work_view import event_counts, job_counts, list_events, list_jobs

MOVING = (Job.State.READY, Job.State.RUNNING)


@workspace_page
def event_list(request: HttpRequest, place: Place) -> HttpResponse:
    status = _choice(request, "status", Event.Status.values)
    outcome = _choice(request, "outcome", Chunk.Outcome.values)
    events = list_events(
        place.workspace,
        scopes=place.scopes,
        status=status,
        outcome=outcome,
        page=page_number(request),
    )
    return render_page(
        request,
        "dashboard/events.html",
        place,
        section="jobs",
        tab="events",
        events=events,
        counts=event_counts(place.workspace, scopes=place.scopes),
        options=Event.Status.values,
        chosen=status,
        outcomes=Chunk.Outcome.values,
        outcome=outcome,
        query=query_without_page(request),
    )


@workspace_page
def job_list(request: HttpRequest, place: Place) -> HttpResponse:
    state = _choice(request, "state", Job.State.values)
    jobs = list_jobs(place.workspace, scopes=place.scopes, state=state, page=page_number(request))
    return render_page(
        request,
        "dashboard/jobs.html",
        place,
        section="jobs",
        tab="jobs",
        jobs=jobs,
        is_moving=any(job.state in MOVING for job in jobs.rows),
        counts=job_counts(place.workspace, scopes=place.scopes),
        options=Job.State.values,
        chosen=state,
        query=query_without_page(request),
    )


@workspace_action
def retry(request: HttpRequest, place: Place, job_id: UUID) -> HttpResponse:
    return _change(request, place, job_id, retry_job, _("The job waits for a worker again."))


@workspace_action
def cancel(request: HttpRequest, place: Place, job_id: UUID) -> HttpResponse:
    return _change(
        request, place, job_id, cancel_job, _("The job is cancelled. Retry undoes this.")
    )


def _change(
    request: HttpRequest,
    place: Place,
    job_id: UUID,
    change: Callable[..., Job],
    done: str,
) -> HttpResponse:
    place.require_write()
    try:
        change(place.workspace, scopes=place.scopes, job_id=job_id)
    except Conflict:
        messages.error(request, _("The job has moved on meanwhile; nothing was changed."))
    else:
        messages.success(request, done)
    return redirect(place.address("dashboard_jobs") + "?state=" + _choice_posted(request))


def _choice(request: HttpRequest, name: str, allowed: list[str]) -> str:
    value = request.GET.get(name, "")
    return value if value in allowed else ""


def _choice_posted(request: HttpRequest) -> str:
    """The filter that the person came from, so that the list stays where it was."""
    value = request.POST.get("state", "")
    return value if value in Job.State.values else ""
