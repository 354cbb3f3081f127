"""What a run's sentence brings up by itself: data for a prompt, and no trace of a question."""

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from retrieval.definitions import RetrieveRequest
from retrieval.recall import recall
from tests.retrieval.factories import MemoryMaker


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("Which port does the Atlas gateway use?", "8443"),
        ("支付网关的日志保存多久？", "三十天"),
    ],
)
def test_what_memory_knows_of_a_sentence_is_a_section_marked_as_data(
    team: MemoryMaker, sentence: str, answer: str
) -> None:
    section = recall(team.workspace, scopes=None, request=RetrieveRequest(query=sentence))
    assert answer in section
    assert section.startswith("<")


def test_small_talk_recalls_nothing_and_leaves_no_trace(team: MemoryMaker) -> None:
    request = RetrieveRequest(query="Who won the regatta in Lisbon last summer?")
    assert recall(team.workspace, scopes=None, request=request) == ""
    with workspace_scope(team.workspace, ALL_SCOPES):
        assert not team.workspace.gaps.exists()
        assert not team.workspace.retrievals.exists()
