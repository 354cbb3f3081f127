"""A cancel in every state: the run ends within two seconds, and what was shown stays."""

import time
from threading import Event

import pytest

from agents.models.runs import Run
from agents.runner import turns
from agents.services.runs import cancel_run, retry_run
from agents.tools.registry import Tool, ToolContext, ToolOutcome, forget_tool, register_tool
from holamem.errors import Conflict
from tests.agents.talking import (
    again,
    messages_of,
    open_session,
    principal_of,
    runner_of,
    said,
    say,
    types_of,
    until,
    wait_for,
    work_off,
)
from tests.openai_server import OpenAIServer
from tests.streamed import calls, says, streams, words
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace

IN_TIME = 2.0


def cancelled_in(run: Run) -> float:
    """Seconds until it has ended after the cancel."""
    started = time.monotonic()
    cancel_run(run.workspace, run=run)
    until(run, "cancelled")
    return time.monotonic() - started


def test_in_the_queue_it_ends_at_once(workspace: Workspace) -> None:
    run = say(open_session(workspace))
    cancel_run(workspace, run=run)
    assert again(run).status == "cancelled"
    assert types_of(run.session) == ["run.created", "run.cancelled"]
    assert_clean(workspace)


def test_in_the_middle_of_an_answer_what_was_shown_is_kept(
    workspace: Workspace, model: OpenAIServer
) -> None:
    never = Event()
    model.script(streams(*words("Once upon "), never), says("Next."))
    session = open_session(workspace)
    with runner_of(workspace):
        run = say(session)
        waiting = say(session, "And then?")
        wait_for(run, "assistant.delta")
        assert cancelled_in(run) < IN_TIME
        until(waiting, "completed")
    partial = next(m for m in messages_of(session) if m.run_id == run.id and m.role == "assistant")
    assert partial.is_partial
    assert partial.content.strip() == "Once upon"
    assert_clean(workspace)


def test_in_the_middle_of_a_tool_its_late_result_is_dropped(
    workspace: Workspace, model: OpenAIServer
) -> None:
    begun, go_on = Event(), Event()

    def sleep(context: ToolContext, arguments: dict[str, object]) -> ToolOutcome:
        begun.set()
        go_on.wait(10)
        return ToolOutcome(True, "too late")

    name = "sleep_until_told"
    register_tool(Tool(name, "Sleeps.", {"type": "object"}, sleep, is_idempotent=True))
    try:
        model.script(calls((name, {})))
        session = open_session(workspace, known_tools=frozenset({name}), tools=[name])
        with runner_of(workspace):
            run = say(session)
            assert begun.wait(5)
            assert cancelled_in(run) < IN_TIME
            go_on.set()
    finally:
        forget_tool(name)
    assert "too late" not in str(said(session))
    assert_clean(workspace)


def test_while_it_waits_for_a_person(workspace: Workspace, model: OpenAIServer) -> None:
    write = ("memory_write", {"action": "save", "name": "x", "content": "x", "summary": "x"})
    model.script(calls(write))
    run = say(open_session(workspace))
    work_off(workspace)
    assert again(run).status == "waiting_approval"
    assert cancelled_in(run) < IN_TIME
    assert_clean(workspace)


def test_a_run_whose_thread_is_stuck_is_ended_without_it(
    workspace: Workspace, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, go_on = Event(), Event()

    def get_stuck(*args: object, **options: object) -> str:
        stuck.set()
        go_on.wait(10)
        return ""

    monkeypatch.setattr(turns, "recall_for", get_stuck)
    model.script(says("Too late."))
    session = open_session(workspace)
    with runner_of(workspace):
        run = say(session)
        assert stuck.wait(5)
        assert cancelled_in(run) < IN_TIME
        go_on.set()
    assert said(session) == [("user", "Hello.")]
    assert_clean(workspace)


def test_again_is_fine_and_after_the_end_it_is_too_late(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(says("Done."))
    session = open_session(workspace)
    done = say(session)
    work_off(workspace)
    with pytest.raises(Conflict):
        cancel_run(workspace, run=done)
    cancelled = say(session)
    cancel_run(workspace, run=cancelled)
    assert cancel_run(workspace, run=cancelled).status == "cancelled"
    assert again(done).status == "completed"
    assert types_of(session).count("run.cancelled") == 1
    assert_clean(workspace)


def test_it_can_be_tried_again_with_the_same_configuration(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(streams(*words("Half")), says("Whole."))
    session = open_session(workspace, system_prompt="Be brief.")
    run = say(session, "Tell me.")
    work_off(workspace)
    retry = retry_run(workspace, run=again(run), started_by=principal_of(workspace))
    work_off(workspace)

    retry = again(retry)
    assert retry.status == "completed"
    assert (retry.config, retry.retry_of_id) == (again(run).config, run.id)
    shown = model.chats()[-1].body["messages"]
    assert [message["content"] for message in shown[1:]] == ["Tell me."]
    with pytest.raises(Conflict):
        retry_run(workspace, run=retry, started_by=principal_of(workspace))
    assert_clean(workspace)
