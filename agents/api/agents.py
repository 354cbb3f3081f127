"""Agents: what a session talks to."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from agents.api.serializers import AgentPageSerializer, AgentSerializer
from agents.models.conversations import Agent
from agents.services.agents import (
    BOUNDS,
    MAX_COST,
    NAME_CHARACTERS,
    PROMPT_CHARACTERS,
    create_agent,
    get_agent,
    list_agents,
    update_agent,
)
from agents.tools.registry import all_tools
from holamem.http.fields import (
    NameField,
    QueryBooleanField,
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    StrictNumberField,
    StrictSerializer,
    TextField,
    choices,
)
from holamem.http.openapi import operation
from workspaces.api.base import WorkspaceView
from workspaces.api.pagination import PageQuery, page_answer, wanted_slice
from workspaces.api.permissions import ADMIN
from workspaces.services.listing import slice_rows

SLUG_CHARACTERS = 63
TOOLS = 100
MIN_COST = 0.0001  # US dollars: the last digit that is kept


def _bounded(name: str) -> StrictIntegerField:
    low, high = BOUNDS[name]
    return StrictIntegerField(min_value=low, max_value=high, required=False)


class AgentFields(StrictSerializer):
    name = NameField(required=False, max_length=NAME_CHARACTERS)
    system_prompt = TextField(required=False, blank_allowed=True, max_length=PROMPT_CHARACTERS)
    model = TextField(
        source="model_name",
        required=False,
        blank_allowed=True,
        max_length=NAME_CHARACTERS,
        help_text="Empty: the chat model of the installation.",
    )
    tools = StrictListField(
        child=StrictChoiceField(choices=choices(all_tools())),
        max_length=TOOLS,
        required=False,
        help_text="Names of tools; all of them for a new agent that names none.",
    )
    mode = StrictChoiceField(
        choices=choices(Agent.Mode.values),
        required=False,
        help_text=(
            "`observe` reads; `assist` also writes, and waits for approval where a tool needs it;"
            " `autonomous` writes and waits for nothing."
        ),
    )
    context_tokens = _bounded("context_tokens")
    output_tokens = _bounded("output_tokens")
    tool_calls = _bounded("tool_calls")
    cost = StrictNumberField(
        required=False,
        allow_null=True,
        min_value=MIN_COST,
        max_value=float(MAX_COST),
        help_text="US dollars that a run may cost; null: no limit of its own.",
    )
    recall = StrictBooleanField(required=False)
    feeds_memory = StrictBooleanField(required=False)


class NewAgentSerializer(AgentFields):
    slug = TextField(max_length=SLUG_CHARACTERS, pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")


class AgentChangesSerializer(AgentFields):
    archived = StrictBooleanField(
        required=False, help_text="True: no session begins with it; what runs goes on."
    )


class AgentQuery(PageQuery):
    archived = QueryBooleanField(required=False, default=False, help_text="With archived ones.")


class AgentsView(WorkspaceView):
    permissions = {"POST": ADMIN}
    queries = {"GET": AgentQuery}
    bodies = {"POST": NewAgentSerializer}

    @operation("agents_list", summary="List agents", answers={200: AgentPageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """By slug. One with the slug `default` is always there."""
        owner = self.workspace.id
        wanted = wanted_slice(request, params=self.params, owner=owner)
        found = list_agents(self.workspace, with_archived=self.params["archived"])
        listed = slice_rows(found, wanted=wanted)
        return Response(page_answer(request, listed=listed, owner=owner, show=_shown))

    @operation(
        "agents_create",
        summary="Make an agent",
        answers={201: AgentSerializer},
        problems=(404, 409, 413, 415),
    )
    def post(self, request: Request, ws: str) -> Response:
        """What is left out has a default. The slug never changes."""
        made = create_agent(
            self.workspace,
            known_tools=frozenset(all_tools()),
            principal=self.principal,
            **self.read_body(request),
        )
        return Response(_shown(made), status=201)


class AgentView(WorkspaceView):
    permissions = {"PATCH": ADMIN}
    bodies = {"PATCH": AgentChangesSerializer}

    def find_owner(self, **kwargs: Any) -> None:
        super().find_owner(**kwargs)
        self.found = get_agent(self.workspace, slug=kwargs["agent"])

    @operation("agents_get", summary="Look at one agent", answers={200: AgentSerializer})
    def get(self, request: Request, ws: str, agent: str) -> Response:
        """Its prompt, its tools and its limits."""
        return Response(_shown(self.found))

    @operation(
        "agents_update",
        summary="Change an agent",
        answers={200: AgentSerializer},
        problems=(404, 409, 413, 415),
    )
    def patch(self, request: Request, ws: str, agent: str) -> Response:
        """For runs that begin later; those that exist keep the copy that they were made with."""
        body = self.read_body(request)
        changed = update_agent(
            self.workspace,
            slug=agent,
            known_tools=frozenset(all_tools()),
            is_archived=body.pop("archived", None),
            principal=self.principal,
            **body,
        )
        return Response(_shown(changed))


def _shown(agent: Agent) -> dict[str, Any]:
    return dict(AgentSerializer(agent).data)
