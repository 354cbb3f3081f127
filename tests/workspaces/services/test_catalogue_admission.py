"""Whatever a model answers about a chunk's worth, no memory is lost and none is let in by mistake."""

import logging

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.openai_server import Behaviour, answer, garbage, says
from tests.verification import assert_clean
from tests.workspaces.memory import draft, remember, unfinished_jobs
from tests.workspaces.model_memory import PORT, UNUSABLE, leaves_of
from tests.workspaces.scripted_model import MODEL_NAME, ScriptedModel
from workspaces.models.log import Chunk
from workspaces.models.tenancy import Workspace

端口 = "支付网关的端口是 8443。"
GREETING = "Good morning, how are you?"
WRONG: dict[str, Behaviour] = {
    "confidence 7": answer({"confidence": 7, "reason": "durable_fact"}),
    "negative": answer({"confidence": -0.9, "reason": "durable_fact"}),
    "not a number": answer({"confidence": float("nan"), "reason": "durable_fact"}),
    "a number in quotes": answer({"confidence": "0.9", "reason": "durable_fact"}),
    "null": answer({"confidence": None, "reason": "durable_fact"}),
    "true": answer({"confidence": True, "reason": "durable_fact"}),
    "another reason": answer({"confidence": 0.9, "reason": "because I say so"}),
    "no confidence": answer({"reason": "durable_fact"}),
    "other names": answer({"score": 0.9, "why": "durable_fact"}),
    "a list of answers": answer([{"confidence": 0.9, "reason": "durable_fact"}]),
    "an answer inside another": answer({"answer": {"confidence": 0.9, "reason": "durable_fact"}}),
    "the instructions": says("You decide whether one piece of a conversation is worth keeping."),
}


def chunk_of(workspace: Workspace) -> Chunk:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.chunks.get()


@pytest.mark.parametrize("case", [*UNUSABLE, *WRONG])
@pytest.mark.parametrize("fact", [PORT, 端口])
def test_without_a_usable_answer_the_rules_admit_a_fact_and_say_so(
    workspace: Workspace, model: ScriptedModel, case: str, fact: str
) -> None:
    model.answers["admission"] = (UNUSABLE | WRONG)[case]
    [result] = remember(workspace, draft(fact, admission="judge"))
    assert (result.status, [chunk.outcome for chunk in result.chunks]) == ("processed", ["created"])
    assert chunk_of(workspace).judged_by == f"{MODEL_NAME}: no usable answer, offline; {MODEL_NAME}"
    assert len(leaves_of(workspace)) == 1
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


@pytest.mark.parametrize("case", ["prose", "refusal", "5 MB", "empty"])
def test_without_a_usable_answer_the_rules_turn_small_talk_away(
    workspace: Workspace, model: ScriptedModel, case: str
) -> None:
    model.answers["admission"] = UNUSABLE[case]
    [result] = remember(workspace, draft(GREETING, admission="judge"))
    assert [chunk.outcome for chunk in result.chunks] == ["rejected"]
    assert chunk_of(workspace).judged_by == f"{MODEL_NAME}: no usable answer, offline"
    assert leaves_of(workspace) == []


def test_a_refusal_of_the_model_differs_from_having_no_answer(
    workspace: Workspace, model: ScriptedModel
) -> None:
    model.answers["admission"] = answer({"confidence": 0.0, "reason": "too_vague"})
    [result] = remember(workspace, draft(PORT, admission="judge"))
    assert [chunk.outcome for chunk in result.chunks] == ["rejected"]
    assert chunk_of(workspace).judged_by == MODEL_NAME


@pytest.mark.parametrize(("confidence", "outcome"), [(0.49, "rejected"), (0.5, "created")])
def test_both_sides_of_the_admission_threshold(
    workspace: Workspace, model: ScriptedModel, confidence: float, outcome: str
) -> None:
    model.answers["admission"] = answer({"confidence": confidence, "reason": "durable_fact"})
    [result] = remember(workspace, draft(PORT, admission="judge"))
    assert [chunk.outcome for chunk in result.chunks] == [outcome]


def test_a_broken_answer_is_asked_for_once_more_with_what_was_wrong(
    workspace: Workspace, model: ScriptedModel
) -> None:
    replies = iter(
        [answer({"confidence": 7, "reason": "durable_fact"}), model.answers["admission"]]
    )
    model.answers["admission"] = lambda request: next(replies)(request)
    [result] = remember(workspace, draft(PORT, admission="judge"))
    assert [chunk.outcome for chunk in result.chunks] == ["created"]
    asked = [request for request in model.chats() if "admission" in str(request.body)]
    assert len(asked) == 2
    assert "confidence" in asked[1].body["messages"][-1]["content"]
    assert chunk_of(workspace).judged_by == MODEL_NAME


@pytest.mark.parametrize("broken", [garbage(), says(PORT), answer({"reason": PORT})])
def test_the_log_of_a_useless_answer_holds_no_word_of_the_memory(
    workspace: Workspace,
    model: ScriptedModel,
    caplog: pytest.LogCaptureFixture,
    broken: Behaviour,
) -> None:
    model.answers |= dict.fromkeys(("admission", "assignment"), broken)
    with caplog.at_level(logging.DEBUG):
        remember(workspace, draft(PORT, admission="judge"))
    told = " ".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert "admission.unusable_answer" in told
    assert not any(words in told for words in ("Atlas gateway", "listens on", "port 8443"))


def test_no_broken_answer_admits_what_the_rules_forbid(
    workspace: Workspace, model: ScriptedModel
) -> None:
    model.answers["admission"] = garbage()
    [failed, claim] = remember(
        workspace,
        draft("restart: exit code 1", kind="tool_result", succeeded=False, admission="judge"),
        draft("I have restarted the Atlas gateway.", kind="assistant_turn", admission="judge"),
    )
    reasons = [chunk.reason for result in (failed, claim) for chunk in result.chunks]
    assert reasons == ["failed_execution", "no_execution"]
    assert leaves_of(workspace) == []
