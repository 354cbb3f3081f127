"""A worker killed at any point: the run comes to the end that it would have had."""

import signal
import time
from threading import Event

import pytest
from django.db import connection

from agents.models.runs import Run
from agents.runner.sweeping import unfed_runs
from agents.services.feeding import feed_run
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from tests.agents import crashing
from tests.agents.processes import runner_process
from tests.agents.talking import (
    again,
    events_of,
    messages_of,
    open_session,
    others,
    runner_of,
    say,
    until,
    wait_for,
    work_off,
)
from tests.faults.processes import start
from tests.openai_server import OpenAIServer, Reply, Request, completion, failure
from tests.streamed import calls, ending, says, streams, words
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace

LONG = "The harbour master counts the ships that come in with the evening tide. " * 12
POINTS = [
    "run.claimed",
    "run.before_delta",
    "run.after_delta",
    "run.after_delta@2",
    "run.before_answer",
    "run.before_answer@2",
    "run.after_answer",
    "run.after_answer@2",
    "run.before_feeding",
    "run.fed",
]


def answering(request: Request) -> Reply:
    """A call, and then an answer: by what was said, so that asking again changes nothing."""
    if not request.body.get("stream"):
        return completion('{"notes": "They spoke about ships."}')
    if not request.body.get("tools"):
        return says("Aye.", usage=None)(request)
    if request.body["messages"][-1]["role"] == "tool":
        return says("It ", "works.", usage=None)(request)
    return calls(("ping", {}), text="One moment.")(request)


def die_at(workspace: Workspace, model: OpenAIServer, point: str) -> bool:
    name, _, occurrence = point.partition("@")
    fault = f"{name}:kill@{occurrence or 1}"
    return start(crashing.work_in, model.base_url, others(workspace), fault=fault).is_killed()


def let_leases_run_out(workspace: Workspace) -> None:
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agents_run SET lease_until = now() - interval '1 second'"
            " WHERE workspace_id = %s AND lease_token IS NOT NULL",
            [workspace.pk],
        )


def recover(workspace: Workspace) -> None:
    """What the next worker and its sweep do."""
    let_leases_run_out(workspace)
    work_off(workspace)
    for run in unfed_runs(older_than_seconds=-5, limit=10_000):
        if run.workspace_id == workspace.pk:
            feed_run(run.workspace, run=run)


def outcome(workspace: Workspace, run: Run) -> tuple[str, list[tuple[str, str]], list[object]]:
    """What counts: how it ended, what was said in whole, and what memory was given."""
    with workspace_scope(workspace, ALL_SCOPES):
        fed = sorted(workspace.events.values_list("kind", "payload_text"))
    whole = [(m.role, m.content) for m in messages_of(run.session) if not m.is_partial]
    return again(run).status, whole, fed


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_any_point_is_survived(
    workspace: Workspace, model: OpenAIServer, point: str
) -> None:
    model.script(answering)
    run = say(open_session(workspace, feeds_memory=True), "Does it work?")
    assert die_at(workspace, model, point)
    recover(workspace)
    status, whole, fed = outcome(workspace, run)
    assert status == "completed"
    assert [role for role, _ in whole] == ["user", "assistant", "tool", "assistant"]
    assert whole[-1] == ("assistant", "It works.")
    assert fed == [("user_message", "Does it work?")]
    assert_clean(workspace)


@pytest.mark.slow
def test_a_kill_right_after_a_failure_leaves_it_a_failure(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(failure(400, "no"))
    run = say(open_session(workspace, feeds_memory=True), "Does it work?")
    assert die_at(workspace, model, "run.ended")
    recover(workspace)
    assert outcome(workspace, run) == (
        "failed", [("user", "Does it work?")], [("user_message", "Does it work?")],
    )  # fmt: skip
    assert_clean(workspace)


@pytest.mark.slow
def test_a_kill_before_a_summary_is_stored_leaves_the_conversation_whole(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(answering)
    session = open_session(workspace, context_tokens=1_000, tools=[])
    say(session, LONG)
    work_off(workspace)
    run = say(session, LONG * 3)
    assert die_at(workspace, model, "compaction.before_commit")
    assert "context.compacted" not in [event.type for event in events_of(session)]
    recover(workspace)
    assert again(run).status == "completed"
    assert "context.compacted" in [event.type for event in events_of(session)]
    assert_clean(workspace)


@pytest.mark.slow
def test_a_killed_process_loses_its_run_to_another_within_twice_the_lease(
    workspace: Workspace, model: OpenAIServer
) -> None:
    never = Event()
    model.script(streams(*words("Once upon "), never), says("a time."))
    run = say(open_session(workspace))
    with runner_process() as process:
        wait_for(run, "assistant.delta", seconds=60)  # for its start, too
        process.send_signal(signal.SIGKILL)
        process.wait()
    killed_at = time.monotonic()
    with runner_of(workspace):
        until(run, "completed", seconds=60)
    taken_over = time.monotonic() - killed_at
    assert taken_over < 60, taken_over
    assert [m.is_partial for m in messages_of(run.session)] == [False, True, False]
    assert_clean(workspace)


def hang_up_on_all_others() -> None:
    """What a restart of the database does to every connection but this one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.slow
def test_a_database_that_hangs_up_in_the_middle_of_an_answer_delays_it_only(
    workspace: Workspace, model: OpenAIServer
) -> None:
    gate = Event()
    model.script(
        streams(*words("Once "), gate, *words("upon "), *ending()), says("Once upon a time.")
    )
    run = say(open_session(workspace))
    with runner_of(workspace):
        wait_for(run, "assistant.delta")
        hang_up_on_all_others()
        gate.set()
        until(run, "completed", seconds=60)
    assert messages_of(run.session)[-1].content == "Once upon a time."
    assert_clean(workspace)


@pytest.mark.slow
def test_a_database_that_hangs_up_again_and_again_loses_and_doubles_nothing(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(answering)
    sessions = [open_session(workspace, feeds_memory=True) for _ in range(4)]
    runs = [say(session, f"Does {n} work?") for n in range(3) for session in sessions]
    with runner_of(workspace, threads=4):
        for _ in range(12):
            Event().wait(0.5)
            hang_up_on_all_others()
        ended = [until(run, "completed", "failed", seconds=90) for run in runs]
    recover(workspace)
    assert {run.stop_reason for run in ended} <= {"completed", "worker_lost"}
    for session in sessions:
        whole = [m.role for m in messages_of(session) if not m.is_partial]
        assert whole.count("user") == 3
    with workspace_scope(workspace, ALL_SCOPES):
        fed = sorted(workspace.events.values_list("payload_text", flat=True))
    assert fed == sorted(f"Does {n} work?" for n in range(3) for _ in sessions)
    assert_clean(workspace)
