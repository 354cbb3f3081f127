"""Pages: the sessions of a workspace, one conversation, and its log as a timeline."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from agents.dashboard.conversation import conversation_of
from agents.dashboard.forms import SayForm, SessionForm, TitleForm
from agents.dashboard.reads import list_session_rows, session_usage, timeline_of
from agents.models.conversations import Session
from agents.models.runs import Run
from agents.services.agents import list_agents
from agents.services.messages import delete_message
from agents.services.runs import start_run
from agents.services.sessions import (
    archive_session,
    create_session,
    get_session,
    update_session,
)
from agents.streaming.answer import follow_session
from agents.streaming.frames import source_of
from holamem.errors import HolamemError, InvalidInput, NotFound
from holamem.http.handover import stream_response
from retrieval.dashboard.reads import end_user_refs
from workspaces.dashboard.changing import first_problem, reason_of, refused, text_of, told
from workspaces.dashboard.page import (
    Place,
    find_place,
    page_number,
    query_without_page,
    render_page,
    workspace_action,
    workspace_form,
    workspace_page,
)
from workspaces.services.principals import select_scopes


@workspace_form
def session_list(request: HttpRequest, place: Place) -> HttpResponse:
    """A post starts a session, with its first message if there is one."""
    if request.method != "POST":
        return _show_list(request, place, SessionForm())
    place.require_run()
    form = SessionForm(request.POST)
    if not form.is_valid():
        return _show_list(request, place, form, problem=first_problem(form))
    try:
        session = _begin(place, form)
    except HolamemError as error:
        return _show_list(request, place, form, problem=_told_reason(error))
    return redirect(place.address("dashboard_session", session.id))


def _begin(place: Place, form: SessionForm) -> Session:
    session = create_session(
        place.workspace,
        scope_id=_scope_of(place, user=text_of(form, "user")),
        agent_slug=text_of(form, "agent"),
        title=text_of(form, "title"),
    )
    content = text_of(form, "content")
    if content.strip():
        _start(place, session=session, content=content, input_mode=Run.InputMode.QUEUE)
    return session


def _scope_of(place: Place, *, user: str) -> UUID:
    """Raises NotFound for an end user who is not known: a page makes none. InvalidInput when one
    is required.
    """
    if not user and place.workspace.preferences.user_id == "required":
        raise InvalidInput("This workspace requires a user_id.", field="user")
    selected = select_scopes(place.workspace, principal=place.principal, user_id=user or None)
    if user and selected.write_scope == place.workspace.id:
        raise NotFound("There is no such end user.", field="user")
    return selected.write_scope


def _start(place: Place, *, session: Session, content: str, input_mode: str) -> None:
    start_run(
        place.workspace,
        session=session,
        content=content,
        input_mode=input_mode,
        started_by=place.principal,
    )


def _told_reason(error: HolamemError) -> str:
    """What was chosen in a form may be gone: that is a sentence beside it and no page."""
    return _(error.message) if isinstance(error, NotFound) else reason_of(error)


def _show_list(
    request: HttpRequest, place: Place, form: SessionForm, *, problem: str = ""
) -> HttpResponse:
    chosen = request.GET.get("status", "")
    status = chosen if chosen in Session.Status.values else ""
    return render_page(
        request,
        "dashboard/sessions.html",
        place,
        section="sessions",
        tab="sessions",
        sessions=list_session_rows(
            place.workspace, scopes=place.scopes, status=status, page=page_number(request)
        ),
        options=Session.Status.values,
        chosen=status,
        agents=list_agents(place.workspace),
        users=end_user_refs(place.workspace),
        form=form,
        problem=problem,
        query=query_without_page(request),
    )


@workspace_page
def session(request: HttpRequest, place: Place, session_id: UUID) -> HttpResponse:
    found = get_session(place.workspace, scopes=place.scopes, session_id=session_id)
    return show_session(request, place, found)


def show_session(
    request: HttpRequest,
    place: Place,
    found: Session,
    *,
    problem: str = "",
    typed: str = "",
) -> HttpResponse:
    """`typed` is a message that was refused, with the reason in `problem`."""
    before = request.GET.get("before", "")
    return render_page(
        request,
        "dashboard/session.html",
        place,
        section="sessions",
        tab="conversation",
        session=found,
        talk=conversation_of(
            place.workspace,
            scopes=place.scopes,
            session=found,
            before=int(before) if before.isascii() and before.isdigit() else None,
        ),
        usage=session_usage(place.workspace, scopes=place.scopes, session_id=found.id),
        agents=list_agents(place.workspace) if place.can_run else [],
        problem=problem,
        typed=typed,
    )


@workspace_action
def say(request: HttpRequest, place: Place, session_id: UUID) -> HttpResponse:
    place.require_run()
    found = get_session(place.workspace, scopes=place.scopes, session_id=session_id)
    form = SayForm(request.POST)
    typed = request.POST.get("content", "").replace("\x00", "")
    if not form.is_valid():
        return show_session(request, place, found, problem=first_problem(form), typed=typed)
    mode = Run.InputMode.INTERRUPT if form.cleaned_data["interrupt"] else Run.InputMode.QUEUE
    try:
        _start(place, session=found, content=text_of(form, "content"), input_mode=mode)
    except HolamemError as error:
        return show_session(request, place, found, problem=reason_of(error), typed=typed)
    return redirect(place.address("dashboard_session", session_id))


@workspace_action
def change(request: HttpRequest, place: Place, session_id: UUID) -> HttpResponse:
    """Another title, or another agent for what is said from now on."""
    place.require_run()
    form = TitleForm(request.POST)
    if not form.is_valid():
        messages.error(request, first_problem(form))
        return redirect(place.address("dashboard_session", session_id))
    try:
        update_session(
            place.workspace,
            scopes=place.scopes,
            session_id=session_id,
            title=text_of(form, "title"),
            agent_slug=text_of(form, "agent") or None,
        )
    except HolamemError as error:
        refused(request, error)
    else:
        told(request, _("The session is changed."), audit_id=None)
    return redirect(place.address("dashboard_session", session_id))


@workspace_action
def archive(request: HttpRequest, place: Place, session_id: UUID) -> HttpResponse:
    place.require_run()
    try:
        archive_session(place.workspace, scopes=place.scopes, session_id=session_id)
    except HolamemError as error:
        refused(request, error)
    else:
        told(request, _("The session is archived. It can be read, not continued."), audit_id=None)
    return redirect(place.address("dashboard_session", session_id))


@workspace_action
def message_delete(
    request: HttpRequest, place: Place, session_id: UUID, message_id: UUID
) -> HttpResponse:
    place.require_run()
    delete_message(
        place.workspace, scopes=place.scopes, session_id=session_id, message_id=message_id
    )
    told(request, _("The message is deleted: no agent reads or finds it again."), audit_id=None)
    return redirect(place.address("dashboard_session", session_id))


@workspace_page
def timeline(request: HttpRequest, place: Place, session_id: UUID) -> HttpResponse:
    found = get_session(place.workspace, scopes=place.scopes, session_id=session_id)
    return render_page(
        request,
        "dashboard/timeline.html",
        place,
        section="sessions",
        tab="timeline",
        session=found,
        events=timeline_of(
            place.workspace, scopes=place.scopes, session_id=session_id, page=page_number(request)
        ),
        query=query_without_page(request),
    )


@workspace_page
def stream(request: HttpRequest, place: Place, session_id: UUID) -> HttpResponse:
    """Server-sent events for a person who is signed in, after the last that their page knows."""
    found = get_session(place.workspace, scopes=place.scopes, session_id=session_id)
    following = follow_session(
        source_of(place.workspace, session=found),
        after=_known_seq(request, found),
        is_admitted=lambda: _may_stay(request, place),
    )
    return stream_response(request, following)


def _known_seq(request: HttpRequest, found: Session) -> int:
    """The browser's own number goes first: it comes again with the last that it has."""
    for text in (request.headers.get("Last-Event-ID", ""), request.GET.get("after", "")):
        if text.isascii() and text.isdigit() and len(text) < 16:
            return min(int(text), found.last_event_seq)
    return 0


def _may_stay(request: HttpRequest, place: Place) -> bool:
    """Whether the person is still signed in, and a member."""
    key = request.session.session_key
    if key is None or not request.session.exists(key):
        return False
    try:
        here = find_place(
            request, tenant_slug=place.tenant.slug, workspace_slug=place.workspace.slug
        )
    except NotFound:
        return False
    return here.workspace == place.workspace
