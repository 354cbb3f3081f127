"""What a run brought becomes memory once, and what memory said does not."""

import pytest

from agents.models.runs import Run
from agents.runner.sweeping import unfed_runs
from agents.services.feeding import feed_run
from agents.tools.registry import Tool, ToolContext, ToolOutcome, forget_tool, register_tool
from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.agents.distill.sessions import told
from tests.agents.replies import key, talk
from tests.agents.talking import again, open_session, say, work_off
from tests.openai_server import OpenAIServer
from tests.streamed import calls, says
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace
from workspaces.services.end_users import ensure_end_user

WEATHER = "look_up_weather"


@pytest.fixture
def weather() -> object:
    def look(context: ToolContext, arguments: dict[str, object]) -> ToolOutcome:
        if arguments:
            return ToolOutcome(False, "There is no such place.")
        return ToolOutcome(True, "It rains in Hamburg.")

    register_tool(Tool(WEATHER, "Weather.", {"type": "object"}, look))
    yield WEATHER
    forget_tool(WEATHER)


def memory(workspace: Workspace) -> list[tuple[str, str, str]]:
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.events.order_by("id")
        return [(row.kind, row.payload_text, str(row.scope_id)) for row in rows]


def test_words_of_the_person_and_results_of_tools_become_events_once(
    workspace: Workspace, model: OpenAIServer, weather: str
) -> None:
    model.script(
        calls(
            (WEATHER, {}),
            (WEATHER, {"place": "x"}),
            ("ping", {}),
            ("memory_search", {"query": "x"}),
        ),
        says("It rains."),
    )
    with workspace_scope(workspace):
        ana = ensure_end_user(workspace, ref="ana")
    names = [WEATHER, "ping", "memory_search"]
    session = open_session(
        workspace, scope_id=ana, feeds_memory=True, tools=names, known_tools=frozenset(names)
    )
    run = say(session, "How is the weather in Hamburg?")
    work_off(workspace)

    for _ in range(2):
        feed_run(workspace, run=unmarked(again(run)))

    assert memory(workspace) == [
        ("user_message", "How is the weather in Hamburg?", str(ana)),
        ("tool_result", "It rains in Hamburg.", str(ana)),
    ]
    assert again(run).fed_at is not None
    assert_clean(workspace)


def test_what_a_tool_repeats_of_a_plan_and_a_failure_that_it_tells_of_become_no_events(
    workspace: Workspace,
) -> None:
    plan = "The payments service will listen on port 9999 from Monday."
    told(
        workspace,
        plan,
        f"payments: healthy. {plan}",
        "Deployment ended.\nexit code: 3\npayments on 9999",
        arguments={"note": plan},
    )
    results = [text for kind, text, _ in memory(workspace) if kind == "tool_result"]
    assert [text.split(".")[0] for text in results] == ["payments: healthy"]
    assert "9999" not in results[0]


def test_a_key_that_may_not_write_memory_writes_none_by_talking_to_an_agent(
    workspace: Workspace,
) -> None:
    own = key(workspace, permissions=frozenset({"memory:read", "agents:run"}))
    for by in (own, key(workspace)):
        talking = talk(workspace, by=by, content=f"The port is known to {len(by.permissions)}.")
        talking.end()
        feed_run(workspace, run=talking.run)
    assert [text for _, text, _ in memory(workspace)] == ["The port is known to 3."]


def unmarked(run: Run) -> Run:
    """As if the mark had been lost in a crash."""
    run.fed_at = None
    return run


def test_an_agent_that_does_not_feed_leaves_memory_alone(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(says("Hello."))
    run = say(open_session(workspace))
    work_off(workspace)
    feed_run(workspace, run=again(run))
    assert memory(workspace) == []
    assert again(run).fed_at is not None


def test_the_sweep_finds_a_run_that_was_not_fed(workspace: Workspace, model: OpenAIServer) -> None:
    model.script(says("Hello."))
    run = say(open_session(workspace, feeds_memory=True), "My flat is in Linden.")
    work_off(workspace)
    found = [row for row in unfed_runs(older_than_seconds=-5, limit=10_000) if row.id == run.id]
    assert [feed_run(row.workspace, run=row) for row in found] == [1]
    assert [
        row for row in unfed_runs(older_than_seconds=-5, limit=10_000) if row.id == run.id
    ] == []
    assert_clean(workspace)


def test_a_workspace_that_takes_no_shared_memory_is_not_asked_for_ever(
    workspace: Workspace, model: OpenAIServer
) -> None:
    with workspace_scope(workspace):
        workspace.settings = {"user_id": "required"}
    model.script(says("Hello."))
    run = say(open_session(workspace, feeds_memory=True))
    work_off(workspace)
    feed_run(workspace, run=again(run))
    assert again(run).fed_at is not None
