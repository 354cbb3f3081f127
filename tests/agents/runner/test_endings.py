"""However a model service fails, its run ends with a reason, its session is free, and what was
shown is kept.
"""

import pytest

from agents.models.runs import Run
from agents.runner import turns
from holamem.environment import get_environment
from tests.agents.talking import (
    again,
    events_of,
    messages_of,
    open_session,
    said,
    say,
    work_off,
)
from tests.openai_server import (
    Behaviour,
    OpenAIServer,
    echoes_the_key,
    failure,
    hang,
    too_many_requests,
)
from tests.streamed import call_piece, calls, ending, frame, says, streams, words
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace


def run_against(workspace: Workspace, model: OpenAIServer, *script: Behaviour) -> Run:
    model.script(*script)
    run = say(open_session(workspace, output_tokens=1_000))
    work_off(workspace)
    assert_clean(workspace)
    run = again(run)
    assert run.session.active_run_id is None
    return run


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (streams("data: {garbage\n\n"), "unusable_reply"),
        (too_many_requests("300"), "provider_error"),
        (failure(400, "no"), "provider_error"),
        (echoes_the_key(), "provider_error"),
        (says("", " \n"), "empty_reply"),
        (says("<think>Only thoughts.</think>"), "empty_reply"),
        (streams(frame({}, finish="content_filter")), "refused"),
    ],
)
def test_a_service_that_gives_nothing_fails_the_run(
    workspace: Workspace, model: OpenAIServer, behaviour: Behaviour, reason: str
) -> None:
    run = run_against(workspace, model, behaviour)
    assert (run.status, run.stop_reason) == ("failed", reason)
    assert run.error
    assert "sk-test" not in run.error


def test_a_cut_answer_is_kept_as_partial(workspace: Workspace, model: OpenAIServer) -> None:
    run = run_against(workspace, model, streams(*words("Half an ", "answer")))
    assert (run.status, run.stop_reason) == ("failed", "provider_error")
    partial = messages_of(run.session)[-1]
    assert (partial.role, partial.content, partial.is_partial) == (
        "assistant", "Half an answer", True,
    )  # fmt: skip


def test_a_busy_service_is_asked_again(workspace: Workspace, model: OpenAIServer) -> None:
    run = run_against(workspace, model, too_many_requests("0"), says("Here I am."))
    assert run.status == "completed"


def test_a_hanging_service_fails_the_run_in_time(
    workspace: Workspace, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLAMEM_CHAT_DEADLINE_SECONDS", "0.5")
    get_environment.cache_clear()
    run = run_against(workspace, model, hang())
    assert run.stop_reason == "provider_error"
    assert "in time" in run.error


def test_an_endless_answer_is_cut_and_says_so(workspace: Workspace, model: OpenAIServer) -> None:
    run = run_against(workspace, model, streams(*words(*["x " * 25_000] * 100)))
    assert (run.status, run.stop_reason) == ("completed", "output_limit")
    answer = messages_of(run.session)[-1]
    assert answer.is_partial
    assert len(answer.content) == 16_000
    assert len(events_of(run.session)) < 20


def test_half_a_call_is_not_run(workspace: Workspace, model: OpenAIServer) -> None:
    cut = streams(call_piece(0, id="c", name="ping", arguments="{"), *ending("length"))
    run = run_against(workspace, model, cut)
    assert (run.status, run.stop_reason) == ("failed", "output_limit")
    assert [role for role, _ in said(run.session)] == ["user", "assistant"]


def test_a_key_in_an_answer_is_masked_before_anybody_sees_it(
    workspace: Workspace, model: OpenAIServer
) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    run = run_against(workspace, model, says("The key is ", "sk-", *secret[3:], ", keep it."))
    assert run.status == "completed"
    told = str([event.payload for event in events_of(run.session)])
    assert secret not in told
    assert secret[10:30] not in told
    assert secret not in messages_of(run.session)[-1].content


def test_a_budget_of_calls_leaves_the_model_without_tools(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(calls(("ping", {}), ("ping", {}), ("ping", {})), says("Enough."))
    run = say(open_session(workspace, tool_calls=2))
    work_off(workspace)
    assert again(run).status == "completed"
    assert model.chats()[0].body["tools"]
    assert "tools" not in model.chats()[1].body
    assert_clean(workspace)


def test_a_model_that_only_calls_tools_comes_to_an_end(
    workspace: Workspace, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "SPARE_TURNS", 2)
    model.script(calls(("no_such_tool", {})))
    run = say(open_session(workspace, tool_calls=1))
    work_off(workspace)
    assert (again(run).status, again(run).stop_reason) == ("failed", "turn_limit")
    assert_clean(workspace)


def test_the_cost_of_an_agent_is_a_limit(
    workspace: Workspace, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLAMEM_CHAT_PRICE_IN", "1000")
    monkeypatch.setenv("HOLAMEM_CHAT_PRICE_OUT", "1000")
    get_environment.cache_clear()
    model.script(calls(("ping", {})))
    run = say(open_session(workspace, cost="0.03"))  # a call takes 18 tokens: 0.018 dollars
    work_off(workspace)
    assert (again(run).status, again(run).stop_reason) == ("failed", "cost_limit")
    assert len(model.chats()) == 2
    assert_clean(workspace)
