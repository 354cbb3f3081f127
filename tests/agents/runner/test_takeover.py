"""A run whose worker is gone goes on from what was committed, or ends; it never stays running."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection

from agents.models.runs import Run
from agents.runner import steps, turns
from agents.runner.claiming import claim_run, release
from agents.runner.deltas import DeltaWriter
from agents.runner.handles import RunHandle
from agents.runner.turns import execute
from agents.services.runs import cancel_run
from agents.services.states import RunLost
from holamem.database.scope import system_scope
from tests.agents.talking import (
    again,
    events_of,
    messages_of,
    open_session,
    others,
    said,
    say,
    types_of,
    work_off,
)
from tests.openai_server import OpenAIServer
from tests.streamed import calls, says
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace


def let_lease_run_out(run: Run) -> None:
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agents_run SET lease_until = now() - interval '1 second' WHERE id = %s",
            [run.id],
        )


def claimed(workspace: Workspace) -> RunHandle:
    handle = claim_run(busy=others(workspace))
    assert handle is not None
    return handle


def begun_answer(workspace: Workspace, text: str) -> RunHandle:
    """A worker that has streamed this much, and is not heard of again."""
    handle = claimed(workspace)
    turn = steps.open_turn(handle, max_turns=9)
    assert turn.snapshot is not None
    writer = DeltaWriter(handle)
    writer.add(text)
    writer.write(is_end=True)
    return handle


def test_a_run_is_held_until_its_lease_runs_out(workspace: Workspace) -> None:
    run = say(open_session(workspace))
    handle = claimed(workspace)
    assert claim_run(busy=others(workspace)) is None
    let_lease_run_out(run)
    assert claimed(workspace).run.lease_token != handle.run.lease_token
    cancel_run(workspace, run=again(run))


@pytest.mark.parametrize("hours", [1, -1])
def test_a_worker_with_a_wrong_clock_takes_no_run_that_is_held(
    workspace: Workspace, hours: int
) -> None:
    run = say(open_session(workspace))
    handle = claimed(workspace)
    with time_machine.travel(datetime.now(UTC) + timedelta(hours=hours)):
        assert claim_run(busy=others(workspace)) is None
        writer = DeltaWriter(handle)
        writer.add("Hello.")
        writer.write(is_end=True)
    seqs = [event.seq for event in events_of(run.session)]
    assert seqs == list(range(1, len(seqs) + 1))
    let_lease_run_out(run)
    assert claimed(workspace).run.lease_token != handle.run.lease_token
    cancel_run(workspace, run=again(run))


def test_what_was_shown_is_kept_and_the_turn_is_asked_for_again(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(says("The whole answer."))
    session = open_session(workspace)
    run = say(session)
    lost = begun_answer(workspace, "The whole")
    let_lease_run_out(run)

    work_off(workspace)

    assert again(run).status == "completed"
    assert [(m.content, m.is_partial) for m in messages_of(session)[1:]] == [
        ("The whole", True),
        ("The whole answer.", False),
    ]
    assert [m["content"] for m in model.chats()[0].body["messages"][1:]] == ["Hello."]
    with pytest.raises(RunLost):
        steps.end_run(lost, steps.COMPLETED)
    assert types_of(session).count("run.completed") == 1
    assert_clean(workspace)


def test_a_worker_that_lost_its_run_writes_nothing_more(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(says("Mine."))
    session = open_session(workspace)
    run = say(session)
    lost = claimed(workspace)
    let_lease_run_out(run)
    work_off(workspace)
    before = types_of(session)

    execute(lost)

    writer = DeltaWriter(lost)
    writer.add("Late.")
    with pytest.raises(RunLost):
        writer.write(is_end=True)
    assert types_of(session) == before
    assert_clean(workspace)


def test_a_run_that_takes_every_worker_with_it_ends(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(says("Never."))
    session = open_session(workspace)
    run = say(session)
    for _ in range(3):
        begun_answer(workspace, "I am ")
        let_lease_run_out(run)
    work_off(workspace)
    assert (again(run).status, again(run).stop_reason) == ("failed", "worker_lost")
    assert model.chats() == []
    assert_clean(workspace)


def test_calls_that_were_asked_for_are_run_before_the_model_is_asked_again(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(calls(("ping", {})), says("Pong."))
    session = open_session(workspace)
    run = say(session)

    def vanish(*args: object, **options: object) -> None:
        raise RunLost

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "run_calls", vanish)
        execute(claimed(workspace))
    assert [role for role, _ in said(session)] == ["user", "assistant"]
    let_lease_run_out(run)

    work_off(workspace)

    assert again(run).status == "completed"
    assert [role for role, _ in said(session)] == ["user", "assistant", "tool", "assistant"]
    assert len(model.chats()) == 2
    assert_clean(workspace)


def test_a_cancel_of_a_run_without_a_worker_ends_it_at_once(workspace: Workspace) -> None:
    session = open_session(workspace)
    run = say(session)
    begun_answer(workspace, "Half")
    let_lease_run_out(run)
    assert cancel_run(workspace, run=again(run)).status == "cancelled"
    assert messages_of(session)[-1].is_partial
    assert_clean(workspace)


def test_a_planned_stop_hands_its_runs_over_at_once_and_does_not_count(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(says("Taken over."))
    run = say(open_session(workspace))
    release([claimed(workspace)])
    assert again(run).attempts == 0
    work_off(workspace)
    assert again(run).status == "completed"
    assert_clean(workspace)
