"""A conversation with a real small model behind a real server; what it says means nothing."""

from collections.abc import Iterator

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.environment import get_environment
from holamem.providers import registry
from tests.agents.talking import again, events_of, messages_of, open_session, say, work_off
from tests.llm_server import llm_server, missing_package
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace

REASON = missing_package()

pytestmark = [
    pytest.mark.llm,
    pytest.mark.skipif(REASON is not None, reason=REASON or ""),
]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with llm_server() as base_url:
        monkeypatch.setenv("OPENAI_BASE_URL", base_url)
        monkeypatch.setenv("HOLAMEM_CHAT_MODEL", "smollm2")
        _forget()
        yield
    _forget()


def _forget() -> None:
    get_environment.cache_clear()
    registry.reset()


def test_two_sentences_are_answered_by_a_real_model(workspace: Workspace, served: None) -> None:
    session = open_session(workspace, tools=[], output_tokens=24)
    first = say(session, "Say hello.")
    second = say(session, "Which colour has the grass?")
    assert work_off(workspace) == 2

    for run in (again(first), again(second)):
        assert (run.status, run.error) == ("completed", "")
        assert run.input_tokens > 0
        assert 0 < run.output_tokens <= 25
    answers = [message for message in messages_of(session) if message.role == "assistant"]
    assert len(answers) == 2
    told = "".join(e.payload["text"] for e in events_of(session) if e.type == "assistant.delta")
    assert told == "".join(answer.content for answer in answers)
    assert_clean(workspace)


def test_a_run_with_tools_comes_to_its_end_with_a_real_model(
    workspace: Workspace, served: None
) -> None:
    """Whether this model calls one is its affair: whatever it says, each call has its result."""
    session = open_session(workspace, output_tokens=96, tool_calls=2, mode="autonomous")
    asked = say(session, "Call the tool ping, then say what it answered.")
    assert work_off(workspace) == 1

    run = again(asked)
    assert run.stop_reason in ("completed", "output_limit"), run.error
    with workspace_scope(workspace, ALL_SCOPES):
        calls = list(workspace.tool_calls.filter(run=run).values_list("call_id", "status"))
    results = [message.tool_call_id for message in messages_of(session) if message.role == "tool"]
    assert sorted(results) == sorted(call_id for call_id, _ in calls)
    assert {status for _, status in calls} <= {"succeeded", "failed"}
    assert_clean(workspace)
