"""A conversation with a real small model behind a real server; what it says means nothing."""

import pytest

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


def test_two_sentences_are_answered_by_a_real_model(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with llm_server() as base_url:
        monkeypatch.setenv("OPENAI_BASE_URL", base_url)
        monkeypatch.setenv("HOLAMEM_CHAT_MODEL", "smollm2")
        get_environment.cache_clear()
        registry.reset()
        session = open_session(workspace, tools=[], output_tokens=24)
        first = say(session, "Say hello.")
        second = say(session, "Which colour has the grass?")
        assert work_off(workspace) == 2
    get_environment.cache_clear()
    registry.reset()

    for run in (again(first), again(second)):
        assert (run.status, run.error) == ("completed", "")
        assert run.input_tokens > 0
        assert 0 < run.output_tokens <= 25
    answers = [message for message in messages_of(session) if message.role == "assistant"]
    assert len(answers) == 2
    told = "".join(e.payload["text"] for e in events_of(session) if e.type == "assistant.delta")
    assert told == "".join(answer.content for answer in answers)
    assert_clean(workspace)
