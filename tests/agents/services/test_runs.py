"""Runs and agents as rows: what may be asked for, and what is refused by name."""

import pytest

from agents.models.runs import Run
from agents.services.agents import (
    create_agent,
    default_agent,
    get_agent,
    list_agents,
    update_agent,
)
from agents.services.messages import delete_message, list_messages
from agents.services.pages import page_of_sessions
from agents.services.runs import cancel_run, config_digest, get_run, start_run
from agents.services.sessions import (
    claim_active_run,
    create_session,
    get_session,
    update_session,
)
from agents.services.states import LEGAL_MOVES, RunLost, move, require_lease
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict, HolamemError, InvalidInput, NotFound
from holamem.ids import new_id
from tests.agents.talking import again, open_session, principal_of, say, types_of
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace
from workspaces.services.end_users import ensure_end_user
from workspaces.services.listing import Slice
from workspaces.services.tenants import create_workspace


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("context_tokens", 10),
        ("output_tokens", True),
        ("tool_calls", -1),
        ("cost", "NaN"),
        ("cost", 0),
        ("mode", "free"),
        ("tools", ["rm"]),
        ("tools", "ping"),
        ("system_prompt", "x\x00"),
        ("name", " "),
        ("recall", 1),
        ("id", "x"),
    ],
)
def test_a_wrong_value_of_an_agent_is_refused_by_its_name(
    workspace: Workspace, field: str, value: object
) -> None:
    with pytest.raises(InvalidInput) as caught:
        create_agent(workspace, slug="x", **{field: value})
    assert caught.value.field == field


def test_the_default_agent_is_there_once_and_stays(workspace: Workspace) -> None:
    assert default_agent(workspace).id == get_agent(workspace, slug="default").id
    create_agent(workspace, slug="night", tools=["ping"])
    assert [agent.slug for agent in list_agents(workspace)] == ["default", "night"]
    update_agent(workspace, slug="night", is_archived=True)
    assert [agent.slug for agent in list_agents(workspace)] == ["default"]
    with pytest.raises(Conflict):
        update_agent(workspace, slug="default", is_archived=True)
    with pytest.raises(Conflict):
        create_agent(workspace, slug="night")
    with pytest.raises(Conflict):
        create_session(workspace, scope_id=workspace.pk, agent_slug="night")


def test_a_run_keeps_the_configuration_that_it_was_created_with(workspace: Workspace) -> None:
    session = open_session(workspace, system_prompt="Be brief.")
    run = say(session)
    update_agent(workspace, slug=session.agent.slug, system_prompt="Be verbose.", tool_calls=1)
    stored = again(run)
    assert stored.config["system_prompt"] == "Be brief."
    assert stored.config_sha256 == config_digest(stored.config)
    assert again(say(session)).config["system_prompt"] == "Be verbose."
    assert_clean(workspace)


@pytest.mark.parametrize("content", ["", " \n", "\x00", "\ud800", "x" * 200_001])
def test_a_message_that_cannot_be_kept_is_refused(workspace: Workspace, content: str) -> None:
    session = open_session(workspace)
    with pytest.raises(InvalidInput) as caught:
        say(session, content)
    assert caught.value.field == "content"
    assert types_of(session) == []


def test_another_users_session_is_not_there(workspace: Workspace) -> None:
    with workspace_scope(workspace):
        ana, ben = (ensure_end_user(workspace, ref=ref) for ref in ("ana", "ben"))
    session = open_session(workspace, scope_id=ana)
    run = say(session, "My secret.")
    bens = (workspace.pk, ben)
    for read in (
        lambda: get_session(workspace, scopes=bens, session_id=session.id),
        lambda: get_run(workspace, scopes=bens, run_id=run.id),
        lambda: list_messages(workspace, scopes=bens, session_id=session.id),
        lambda: update_session(workspace, scopes=bens, session_id=session.id, title="x"),
        lambda: delete_message(
            workspace, scopes=bens, session_id=session.id, message_id=run.trigger_message_id
        ),
    ):
        with pytest.raises(NotFound):
            read()
    assert page_of_sessions(workspace, scopes=bens, wanted=Slice(limit=10)).rows == []
    cancel_run(workspace, run=run)
    assert_clean(workspace)


def test_a_session_of_another_workspace_cannot_be_given_a_run(workspace: Workspace) -> None:
    other = create_workspace(workspace.tenant, slug=f"o-{new_id().hex}", name="Other")
    session = open_session(workspace)
    with pytest.raises(HolamemError):
        start_run(
            other,
            session=session,
            content="Hello.",
            input_mode="queue",
            started_by=principal_of(other),
        )
    with pytest.raises(NotFound):
        create_session(other, scope_id=new_id())
    assert types_of(session) == []


def test_messages_line_up_with_the_stream(workspace: Workspace) -> None:
    session = open_session(workspace)
    runs = [say(session, f"Message {number}") for number in range(3)]
    messages, as_of = list_messages(workspace, scopes=None, session_id=session.id, limit=2)
    assert [message.content for message in messages] == ["Message 1", "Message 2"]
    assert as_of == 3
    earlier, _ = list_messages(
        workspace, scopes=None, session_id=session.id, before=messages[0].event_seq
    )
    assert [message.content for message in earlier] == ["Message 0"]
    for _ in range(2):
        delete_message(
            workspace,
            scopes=None,
            session_id=session.id,
            message_id=runs[0].trigger_message_id,
        )
    assert types_of(session).count("message.deleted") == 1
    left, as_of = list_messages(workspace, scopes=None, session_id=session.id)
    assert (len(left), as_of) == (2, 4)
    assert_clean(workspace)


@pytest.mark.parametrize("status", list(LEGAL_MOVES))
def test_only_moves_of_the_table_are_made(workspace: Workspace, status: str) -> None:
    illegal = set(LEGAL_MOVES) - LEGAL_MOVES[status]
    for to in illegal:
        run = Run(workspace=workspace, status=status)
        with pytest.raises(Conflict):
            move(run, to=to)
        assert run.status == status


def test_a_state_changes_by_compare_and_swap(workspace: Workspace) -> None:
    session = open_session(workspace)
    run = say(session)
    stale = again(run)
    cancel_run(workspace, run=run)
    with workspace_scope(workspace, ALL_SCOPES):
        with pytest.raises(Conflict):
            move(stale, to="running")
        with pytest.raises(RunLost):
            require_lease(stale)
        claim_active_run(session, stale)
        with pytest.raises(Conflict):
            claim_active_run(session, stale)
        workspace.sessions.filter(id=session.id).update(active_run_id=None)
    assert again(run).status == "cancelled"
    assert_clean(workspace)
