"""Pages: the agents of a workspace, a new one, and the settings of one."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from agents.dashboard.forms import MAX_SLUG, AgentForm
from agents.models.conversations import DEFAULT_AGENT, Agent
from agents.services.agents import (
    BOUNDS,
    create_agent,
    get_agent,
    list_agents,
    update_agent,
)
from agents.tools.registry import Tool, all_tools
from holamem.errors import HolamemError
from workspaces.dashboard.changing import reason_of, refused, told
from workspaces.dashboard.page import (
    Place,
    render_page,
    workspace_action,
    workspace_form,
    workspace_page,
)

FIELDS = (
    "name",
    "system_prompt",
    "model_name",
    "tools",
    "mode",
    "context_tokens",
    "output_tokens",
    "tool_calls",
    "cost",
    "recall",
    "feeds_memory",
)
NO_SLUG = ("new",)  # the address of the page that makes one


class NewAgentForm(AgentForm):
    slug = forms.SlugField(max_length=MAX_SLUG)

    def clean_slug(self) -> str:
        slug = str(self.cleaned_data["slug"])
        if slug in NO_SLUG:
            raise forms.ValidationError(_("This slug is taken by a page."))
        return slug


@workspace_page
def agent_list(request: HttpRequest, place: Place) -> HttpResponse:
    return render_page(
        request,
        "dashboard/agents.html",
        place,
        section="sessions",
        tab="agents",
        agents=list_agents(place.workspace, with_archived=True),
    )


@workspace_form
def agent_new(request: HttpRequest, place: Place) -> HttpResponse:
    place.require_admin()
    tools = all_tools()
    if request.method != "POST":
        blank = _values(Agent(name="", tools=sorted(tools)))
        return _show(request, place, NewAgentForm(initial=blank, tools=sorted(tools)), None)
    form = NewAgentForm(request.POST, tools=sorted(tools))
    if form.is_valid():
        try:
            slug = str(form.cleaned_data["slug"])
            create_agent(
                place.workspace,
                slug=slug,
                known_tools=frozenset(tools),
                principal=place.principal,
                **_given(form),
            )
        except HolamemError as error:
            _add_problem(form, error)
        else:
            told(request, _("The agent is made. Start a session with it."), audit_id=None)
            return redirect(place.address("dashboard_agents"))
    return _show(request, place, form, None)


@workspace_form
def agent_edit(request: HttpRequest, place: Place, agent: str) -> HttpResponse:
    """Everyone sees how an agent is set up; admins change it."""
    found = get_agent(place.workspace, slug=agent)
    tools = sorted({*all_tools(), *found.tools})
    if request.method != "POST":
        return _show(request, place, AgentForm(initial=_values(found), tools=tools), found)
    place.require_admin()
    form = AgentForm(request.POST, tools=tools)
    if form.is_valid():
        try:
            update_agent(
                place.workspace,
                slug=agent,
                known_tools=frozenset(tools),
                principal=place.principal,
                **_given(form),
            )
        except HolamemError as error:
            _add_problem(form, error)
        else:
            told(request, _("The agent is changed, for runs from now on."), audit_id=None)
            return redirect(place.address("dashboard_agent", agent))
    return _show(request, place, form, found)


@workspace_action
def agent_archive(request: HttpRequest, place: Place, agent: str) -> HttpResponse:
    """With `archived=no` back into use."""
    place.require_admin()
    is_archived = request.POST.get("archived") != "no"
    try:
        update_agent(
            place.workspace, slug=agent, is_archived=is_archived, principal=place.principal
        )
    except HolamemError as error:
        refused(request, error)
    else:
        words = _("The agent is archived.") if is_archived else _("The agent is in use again.")
        told(request, words, audit_id=None)
    return redirect(place.address("dashboard_agents"))


def _values(agent: Agent) -> dict[str, Any]:
    return {name: getattr(agent, name) for name in FIELDS}


def _given(form: AgentForm) -> dict[str, Any]:
    return {name: form.cleaned_data[name] for name in FIELDS}


def _add_problem(form: AgentForm, error: HolamemError) -> None:
    field = error.field if error.field in form.fields else None
    form.add_error(field, reason_of(error))


def _show(request: HttpRequest, place: Place, form: AgentForm, agent: Agent | None) -> HttpResponse:
    return render_page(
        request,
        "dashboard/agent.html",
        place,
        section="sessions",
        tab="agents",
        form=form,
        agent=agent,
        problems={name: [str(item) for item in found] for name, found in form.errors.items()},
        values={name: form[name].value() for name in form.fields},
        tools=[_tool(all_tools().get(name), name) for name in form.tool_names],
        modes=Agent.Mode.values,
        bounds=BOUNDS,
        is_default=agent is not None and agent.slug == DEFAULT_AGENT,
    )


def _tool(tool: Tool | None, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": "" if tool is None else tool.description,
        "needs_approval": tool is not None and tool.needs_approval,
    }
