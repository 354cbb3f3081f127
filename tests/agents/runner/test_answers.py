"""A sentence becomes an answer: the whole way, against a model service over HTTP."""

from tests.agents.talking import again, events_of, open_session, said, say, types_of, work_off
from tests.openai_server import OpenAIServer
from tests.streamed import calls, says
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace


def test_a_sentence_is_answered(workspace: Workspace, model: OpenAIServer) -> None:
    model.script(says("The office ", "is in 北京."))
    session = open_session(workspace)
    run = say(session, "Where is the office?")

    assert work_off(workspace) == 1

    run = again(run)
    assert (run.status, run.stop_reason, run.error) == ("completed", "completed", "")
    assert (run.input_tokens, run.output_tokens) == (11, 7)
    assert said(session) == [
        ("user", "Where is the office?"),
        ("assistant", "The office is in 北京."),
    ]
    told = types_of(session)
    assert told[:2] == ["run.created", "run.started"]
    assert told[-2:] == ["assistant.message", "run.completed"]
    deltas = [e.payload["text"] for e in events_of(session) if e.type == "assistant.delta"]
    assert "".join(deltas) == "The office is in 北京."
    [request] = model.chats()
    assert request.body["messages"][-1] == {"role": "user", "content": "Where is the office?"}
    assert "memory_retrieve" in request.body["messages"][0]["content"]
    assert_clean(workspace)


def test_tools_run_and_their_results_go_back_to_the_model(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(calls(("ping", {}), ("ping", {}), text="One moment."), says("It works."))
    session = open_session(workspace)
    run = say(session)

    work_off(workspace)

    assert again(run).status == "completed"
    roles = [role for role, _ in said(session)]
    assert roles == ["user", "assistant", "tool", "tool", "assistant"]
    last = model.chats()[-1].body["messages"]
    assert [message["role"] for message in last[1:]] == ["user", "assistant", "tool", "tool"]
    assert [message["tool_call_id"] for message in last[-2:]] == ["call_ping_0", "call_ping_1"]
    assert again(run).turns == 2
    assert_clean(workspace)


def test_without_a_model_a_run_says_what_to_set(workspace: Workspace) -> None:
    run = say(open_session(workspace))
    work_off(workspace)
    run = again(run)
    assert (run.status, run.stop_reason) == ("failed", "no_model")
    assert "OPENAI_API_KEY" in run.error
    assert "HOLAMEM_CHAT_MODEL" in run.error
    assert_clean(workspace)
