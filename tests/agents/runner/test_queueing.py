"""One active run a session, taken in order; an interrupt goes first."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
from django.db import connection

from agents.models.runs import Run
from agents.runner.claiming import claim_run
from agents.runner.endings import COMPLETED
from agents.runner.steps import end_run
from agents.services.messages import delete_message
from agents.services.sessions import archive_session
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict
from tests.agents.talking import (
    again,
    open_session,
    others,
    runner_of,
    said,
    say,
    types_of,
    until,
    wait_for,
    work_off,
)
from tests.openai_server import OpenAIServer
from tests.streamed import says, streams, words
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace


def test_a_queue_is_taken_in_order_and_each_sees_what_was_said_before(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(says("One."), says("Two."))
    session = open_session(workspace)
    first, second = say(session, "First?"), say(session, "Second?")
    work_off(workspace)

    assert again(first).started_at < again(second).started_at
    shown = [m["content"] for m in model.chats()[0].body["messages"][1:]]
    assert shown == ["First?"]
    shown = [m["content"] for m in model.chats()[1].body["messages"][1:]]
    assert shown == ["First?", "One.", "Second?"]
    assert_clean(workspace)


def test_an_interrupt_cancels_the_active_run_and_goes_before_the_queue(
    workspace: Workspace, model: OpenAIServer
) -> None:
    never = Event()
    model.script(streams(*words("Endless "), never), says("Stopped."), says("Later."))
    session = open_session(workspace)
    with runner_of(workspace):
        active = say(session, "Go on for ever.")
        wait_for(active, "assistant.delta")
        queued = say(session, "Then this.")
        interrupt = say(session, "Stop!", input_mode="interrupt")
        until(queued, "completed")
    assert (again(active).status, again(active).stop_reason) == ("cancelled", "interrupted")
    assert again(interrupt).status == "completed"
    assert again(interrupt).started_at < again(queued).started_at
    assert_clean(workspace)


def test_a_later_interrupt_cancels_an_earlier_one_that_has_not_begun(workspace: Workspace) -> None:
    session = open_session(workspace)
    queued, first = say(session), say(session, input_mode="interrupt")
    second = say(session, input_mode="interrupt")
    assert again(first).status == "cancelled"
    assert again(first).stop_reason == "interrupted"
    assert again(queued).status == again(second).status == "queued"
    assert_clean(workspace)


def test_a_session_with_unfinished_runs_is_not_archived(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(says("Done."))
    session = open_session(workspace)
    say(session)
    with pytest.raises(Conflict):
        archive_session(workspace, scopes=ALL_SCOPES, session_id=session.id)
    work_off(workspace)
    archived = archive_session(workspace, scopes=ALL_SCOPES, session_id=session.id)
    assert archived.status == "archived"
    with pytest.raises(Conflict):
        say(session)
    assert_clean(workspace)


def test_many_writers_and_claimers_at_once_leave_one_active_run_and_no_gap(
    workspace: Workspace,
) -> None:
    """Half of them interrupt; runners claim meanwhile and end what they get at once."""
    session, not_ours = open_session(workspace), others(workspace)
    barrier = Barrier(8)

    def write(number: int) -> Run:
        barrier.wait()
        try:
            return say(session, f"{number}", input_mode="interrupt" if number % 2 else "queue")
        finally:
            connection.close()

    def claim() -> int:
        barrier.wait()
        done = 0
        try:
            for _ in range(40):
                handle = claim_run(busy=not_ours)
                if handle is not None:
                    end_run(handle, COMPLETED)
                    done += 1
            return done
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        writers = [pool.submit(write, number) for number in range(6)]
        claimers = [pool.submit(claim) for _ in range(2)]
        runs = [writer.result() for writer in writers]
        assert sum(claimer.result() for claimer in claimers) >= 1
    while (handle := claim_run(busy=not_ours)) is not None:
        end_run(handle, COMPLETED)

    assert {again(run).status for run in runs} <= {"completed", "cancelled"}
    assert types_of(session).count("run.created") == 6
    with workspace_scope(workspace, ALL_SCOPES):
        begun = workspace.runs.filter(session=session, started_seq__isnull=False)
        queued = begun.filter(input_mode="queue").order_by("started_seq")
        order = list(queued.values_list("created_seq", flat=True))
    assert order == sorted(order)
    assert_clean(workspace)


def test_a_hidden_message_is_not_shown_to_the_model(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(says("I know."), says("I do not know."))
    session = open_session(workspace)
    run = say(session, "My number is 7.")
    work_off(workspace)
    delete_message(
        workspace,
        scopes=ALL_SCOPES,
        session_id=session.id,
        message_id=run.trigger_message_id,
    )
    say(session, "What is it?")
    work_off(workspace)
    shown = [m["content"] for m in model.chats()[-1].body["messages"][1:]]
    assert shown == ["I know.", "What is it?"]
    assert len(said(session)) == 4
    assert_clean(workspace)
