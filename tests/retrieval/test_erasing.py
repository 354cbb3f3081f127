"""Questions and gaps lose the words of erased memory, and keep everything else."""

from uuid import UUID

from holamem.database.scope import ALL_SCOPES, workspace_scope
from retrieval.definitions import RetrieveRequest
from retrieval.erasing import clean
from retrieval.feedback import record_feedback
from retrieval.models import Gap, RetrievalLog
from retrieval.retrieve import retrieve
from tests.verification import assert_clean
from tests.workspaces.erasing import chinese, english, erased, leaf_of
from tests.workspaces.memory import draft, remember
from tests.workspaces.traces import assert_no_trace, chinese_canary, english_canary
from workspaces.models.tenancy import Workspace
from workspaces.services.erasure.cleaners import ErasedMemory

OTHER = "The Atlas gateway supports HTTP/2 and gRPC."


def ask(workspace: Workspace, query: str) -> UUID:
    request = RetrieveRequest(query=query)
    return UUID(str(retrieve(workspace, scopes=None, request=request).retrieval_id))


def log_of(workspace: Workspace, retrieval_id: UUID) -> RetrievalLog:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.retrievals.get(id=retrieval_id)


def gaps_of(workspace: Workspace) -> list[Gap]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.gaps.order_by("id"))


def test_a_question_that_an_erased_leaf_answered_goes(workspace: Workspace) -> None:
    word = english_canary()
    result, _ = remember(workspace, draft(english(word)), draft(OTHER, minutes=1))
    asked = ask(workspace, "Who looks after the Atlas gateway at night?")
    kept = ask(workspace, "Which colour has the moon?")
    record_feedback(
        workspace, scopes=None, retrieval_id=asked, verdict="wrong", note=f"It is not {word}."
    )
    done = erased(workspace, leaf_of(result))
    assert done.retrievals >= 1
    log = log_of(workspace, asked)
    assert (log.query, log.request, log.feedback) == ("", {}, None)
    assert str(leaf_of(result)) in log.node_ids
    if str(leaf_of(result)) not in log_of(workspace, kept).node_ids:
        assert log_of(workspace, kept).query == "Which colour has the moon?"
    assert_no_trace(word)
    assert_clean(workspace)


def test_a_gap_that_names_what_only_the_erased_text_named_is_closed(workspace: Workspace) -> None:
    for word, text in (
        (name := english_canary(), english(name)),
        (name := chinese_canary(), chinese(name)),
    ):
        ask(workspace, f"What is the phone number of {word}? {word}的电话是多少？")
        [gap] = [gap for gap in gaps_of(workspace) if word in gap.question][:1]
        result, _ = remember(workspace, draft(text), draft(OTHER, minutes=1))
        erased(workspace, leaf_of(result))
        [after] = [found for found in gaps_of(workspace) if found.id == gap.id]
        assert (after.question, after.reason, after.suggested_source) == ("", "", None)
        assert after.status != Gap.Status.OPEN
        assert after.embedding is None
        assert_no_trace(word)
    assert_clean(workspace)


def test_a_gap_about_something_else_stays_open(workspace: Workspace) -> None:
    word = english_canary()
    ask(workspace, "What is the budget of the Borealis scheduler?")
    result, _ = remember(workspace, draft(english(word)), draft(OTHER, minutes=1))
    before = [(gap.id, gap.question, gap.status) for gap in gaps_of(workspace)]
    assert before
    erased(workspace, leaf_of(result))
    assert [(gap.id, gap.question, gap.status) for gap in gaps_of(workspace)] == before


def test_words_that_other_memory_still_says_are_no_trace(workspace: Workspace) -> None:
    word = english_canary()
    result, _ = remember(
        workspace,
        draft(f"The night shift of the Atlas gateway belongs to {word}."),
        draft(f"{word} speaks Portuguese and French.", minutes=1),
    )
    asked = ask(workspace, f"Which languages does {word} speak?")
    found = str(leaf_of(result)) in log_of(workspace, asked).node_ids
    erased(workspace, leaf_of(result))
    assert (log_of(workspace, asked).query == "") is found
    assert any(word in (gap.question or word) for gap in gaps_of(workspace)) or not gaps_of(
        workspace
    )


def test_cleaning_without_words_or_ids_changes_nothing(workspace: Workspace) -> None:
    asked = ask(workspace, "Which colour has the moon?")
    memory = ErasedMemory(workspace.id, [], [], texts=["", "the of"])
    assert clean(workspace, memory) == 0
    assert log_of(workspace, asked).query == "Which colour has the moon?"
