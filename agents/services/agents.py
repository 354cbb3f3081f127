"""What sessions talk to: prompt, model, tools, mode and budgets, each checked before it is kept."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from agents.models.conversations import DEFAULT_AGENT, Agent
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, InvalidInput, NotFound
from holamem.text.normalise import find_forbidden, is_blank
from workspaces.models.tenancy import Workspace
from workspaces.services import audit
from workspaces.services.principals import Principal

TOOL_NAMES = (
    "ping",
    "memory_read",
    "memory_write",
    "memory_search",
    "memory_retrieve",
    "memory_browse",
)
NAME_CHARACTERS = 200
PROMPT_CHARACTERS = 50_000
# What a number may be: below, no conversation fits; above, no model takes it.
BOUNDS: dict[str, tuple[int, int]] = {
    "context_tokens": (1_000, 2_000_000),
    "output_tokens": (16, 200_000),
    "tool_calls": (0, 1_000),
}
MAX_COST = Decimal(100_000)
CHANGEABLE = frozenset(
    {"name", "system_prompt", "model_name", "tools", "mode", "cost", "recall", "feeds_memory"}
    | set(BOUNDS)
)


def create_agent(
    workspace: Workspace,
    *,
    slug: str,
    known_tools: frozenset[str] | None = None,
    principal: Principal | None = None,
    **values: Any,
) -> Agent:
    """`values` are fields of CHANGEABLE. Raises InvalidInput naming the field, Conflict.

    `principal` is who did it, for the log; None for the product itself.
    """
    if not slug or slugify(slug) != slug or len(slug) > 63:
        raise InvalidInput("A slug holds small letters, digits and hyphens.", field="slug")
    checked = checked_values(values, known_tools=known_tools)
    agent = Agent(workspace=workspace, slug=slug, **{"name": slug, **checked})
    agent.tools = checked.get("tools", list(TOOL_NAMES))
    with workspace_scope(workspace):
        if workspace.agents.filter(slug=slug).exists():
            raise Conflict("There is an agent of this slug already.", field="slug")
        agent.save(force_insert=True)
        _record(workspace, principal, "agent.created", agent=agent, changed=sorted(checked))
    return agent


def update_agent(
    workspace: Workspace,
    *,
    slug: str,
    known_tools: frozenset[str] | None = None,
    is_archived: bool | None = None,
    principal: Principal | None = None,
    **values: Any,
) -> Agent:
    """Later runs see the change; runs that exist keep their copy. Raises NotFound, InvalidInput."""
    checked: dict[str, Any] = dict(checked_values(values, known_tools=known_tools))
    if is_archived is not None:
        if is_archived and slug == DEFAULT_AGENT:
            raise Conflict("The default agent stays.", field="slug")
        checked["archived_at"] = now() if is_archived else None
    with workspace_scope(workspace):
        agent = _agent(workspace, slug=slug, lock=True)
        for name, value in checked.items():
            setattr(agent, name, value)
        agent.save(update_fields=[*checked, "updated_at"])
        _record(workspace, principal, "agent.changed", agent=agent, changed=sorted(checked))
    return agent


def _record(
    workspace: Workspace,
    principal: Principal | None,
    action: str,
    *,
    agent: Agent,
    changed: Sequence[str],
) -> None:
    """Inside the caller's step. Names of fields: instructions are text."""
    if principal is not None:
        detail = {"slug": agent.slug, "changed": list(changed)}
        audit.record(
            workspace, principal=principal, action=action, target_id=agent.id, detail=detail
        )


def get_agent(workspace: Workspace, *, slug: str) -> Agent:
    """The default one is made when it is first asked for. Raises NotFound."""
    if slug == DEFAULT_AGENT:
        return default_agent(workspace)
    with workspace_scope(workspace):
        return _agent(workspace, slug=slug)


def list_agents(workspace: Workspace, *, with_archived: bool = False) -> list[Agent]:
    """By slug."""
    default_agent(workspace)
    with workspace_scope(workspace):
        rows = workspace.agents.order_by("slug")
        return list(rows if with_archived else rows.filter(archived_at=None))


def default_agent(workspace: Workspace) -> Agent:
    """Made at its first use, with every tool."""
    with workspace_scope(workspace):
        known = workspace.agents.filter(slug=DEFAULT_AGENT).first()
        if known is not None:
            return known
        try:
            with transaction.atomic():
                return Agent.objects.create(
                    workspace=workspace,
                    slug=DEFAULT_AGENT,
                    name="Default",
                    tools=list(TOOL_NAMES),
                )
        except IntegrityError:  # made by another request in this moment
            return _agent(workspace, slug=DEFAULT_AGENT)


def _agent(workspace: Workspace, *, slug: str, lock: bool = False) -> Agent:
    rows = workspace.agents.select_for_update() if lock else workspace.agents.all()
    agent = rows.filter(slug=slug).first()
    if agent is None:
        raise NotFound("There is no such agent.")
    return agent


def checked_values(
    values: Mapping[str, Any], *, known_tools: frozenset[str] | None = None
) -> dict[str, Any]:
    """The fields as they are stored. Raises InvalidInput with the name of the first wrong one."""
    for name in values:
        if name not in CHANGEABLE:
            raise InvalidInput("An agent has no such field.", field=name)
    checked = dict(values)
    for name in BOUNDS.keys() & checked.keys():
        _check_number(name, checked[name])
    for name in {"name", "system_prompt", "model_name"} & checked.keys():
        _check_text(name, checked[name])
    if "tools" in checked:
        checked["tools"] = _tools(checked["tools"], known=known_tools or frozenset(TOOL_NAMES))
    if "mode" in checked and checked["mode"] not in Agent.Mode.values:
        raise InvalidInput(f"A mode is one of {', '.join(Agent.Mode.values)}.", field="mode")
    for name in {"recall", "feeds_memory"} & checked.keys():
        if not isinstance(checked[name], bool):
            raise InvalidInput("This is true or false.", field=name)
    if checked.get("cost") is not None:
        checked["cost"] = _cost(checked["cost"])
    return checked


def _check_number(name: str, value: object) -> None:
    low, high = BOUNDS[name]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidInput(f"This is a whole number from {low} to {high}.", field=name)


def _check_text(name: str, value: object) -> None:
    limit = PROMPT_CHARACTERS if name == "system_prompt" else NAME_CHARACTERS
    if not isinstance(value, str) or len(value) > limit:
        raise InvalidInput(f"This is a text of at most {limit} characters.", field=name)
    if find_forbidden(value) is not None:
        raise InvalidInput("The text holds a character that cannot be stored.", field=name)
    if name == "name" and is_blank(value):
        raise InvalidInput("A name is not blank.", field=name)


def _tools(value: object, *, known: frozenset[str]) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise InvalidInput("This is a list of names of tools.", field="tools")
    unknown = sorted(set(value) - known)
    if unknown:
        raise InvalidInput(f"There is no tool named {unknown[0][:100]}.", field="tools")
    return list(dict.fromkeys(value))


def _cost(value: object) -> Decimal:
    try:
        cost = Decimal(str(value))
    except ArithmeticError:
        raise InvalidInput("A cost is a number of US dollars.", field="cost") from None
    if not cost.is_finite() or not 0 < cost <= MAX_COST:
        raise InvalidInput("A cost is a number of US dollars above zero.", field="cost")
    return cost.quantize(Decimal("0.0001"))
