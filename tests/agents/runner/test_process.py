"""The process around the runs: it hears at once, keeps its leases, and shares itself fairly."""

from threading import Event

import pytest

from agents.runner import process
from agents.runner.claiming import claim_run
from agents.runner.process import Runner
from agents.runner.recall import recall_for
from agents.runner.steps import COMPLETED, end_run
from holamem.clock import now
from tests.agents.talking import (
    again,
    events_of,
    model_server,
    open_session,
    others,
    runner_of,
    say,
    until,
    wait_for,
    work_off,
)
from tests.openai_server import OpenAIServer
from tests.streamed import ending, says, streams, words
from tests.verification import assert_clean
from tests.workspaces.memory import draft, remember
from workspaces.models.tenancy import Workspace


def test_a_run_is_taken_as_soon_as_it_is_committed(
    workspace: Workspace, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "POLL_SECONDS", 60.0)
    model.script(says("Here."))
    session = open_session(workspace)
    with runner_of(workspace):
        first = until(say(session), "completed")
        second = until(say(session), "completed")
    for run in (first, second):
        assert run.started_at is not None
        assert (run.started_at - run.created_at).total_seconds() < 5
    assert_clean(workspace)


def test_the_first_piece_is_committed_within_a_moment_of_its_arrival(
    workspace: Workspace, model: OpenAIServer
) -> None:
    gate, never = Event(), Event()
    model.script(streams(gate, *words("First"), never, *ending()))
    run = say(open_session(workspace))
    with runner_of(workspace):
        until(run, "running")
        while not model.chats():
            never.wait(0.01)
        sent_at = now()
        gate.set()
        wait_for(run, "assistant.delta")
        [delta] = [e for e in events_of(run.session) if e.type == "assistant.delta"]
        assert (delta.created_at - sent_at).total_seconds() < 1  # 0.3 on a quiet machine
        never.set()
        until(run, "completed")
    assert_clean(workspace)


def test_a_planned_stop_gives_its_runs_back(workspace: Workspace, model: OpenAIServer) -> None:
    never = Event()
    model.script(streams(*words("Half "), never), says("Whole."))
    run = say(open_session(workspace))
    with runner_of(workspace):
        wait_for(run, "assistant.delta")
    assert again(run).lease_token is None
    assert work_off(workspace) == 1
    assert again(run).status == "completed"
    assert_clean(workspace)


def test_a_workspace_that_has_its_share_waits_for_the_others(workspace: Workspace) -> None:
    run = say(open_session(workspace))
    assert claim_run(busy=[workspace.pk, *others(workspace)]) is None
    handle = claim_run(busy=others(workspace))
    assert handle is not None
    end_run(handle, COMPLETED)
    assert again(run).status == "completed"


def test_no_workspace_takes_every_thread(workspace: Workspace) -> None:
    runner = Runner(threads=8)
    runner._busy[workspace.pk] = 5
    assert runner._full_workspaces() == []
    runner._busy[workspace.pk] = 6
    assert runner._full_workspaces() == [workspace.pk]


def test_a_run_begins_with_what_memory_says_and_that_is_marked_as_data(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workspace, draft("The Atlas gateway is deployed on Monday at ten."))
    session = open_session(workspace, recall=True)
    with model_server(monkeypatch) as model:
        model.script(says("On Monday."))
        run = say(session, "When is the Atlas gateway deployed?")
        work_off(workspace)
        [system] = [m for m in model.chats()[-1].body["messages"] if m["role"] == "system"]
    assert "Monday at ten" in system["content"]
    assert "<holamem-memory" in system["content"]
    assert system["content"].index("memory_retrieve") < system["content"].index("Monday at ten")
    assert again(run).status == "completed"
    assert_clean(workspace)


def test_an_agent_without_recall_asks_memory_nothing(workspace: Workspace) -> None:
    say(open_session(workspace, recall=False), "When is the Atlas gateway deployed?")
    handle = claim_run(busy=others(workspace))
    assert handle is not None
    assert recall_for(handle) == ""
    end_run(handle, COMPLETED)
