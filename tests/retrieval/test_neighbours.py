"""What was said around a turn helps to find it, and leaves memory with its own leaf."""

from typing import Any

from holamem.database.scope import workspace_scope
from tests.retrieval.asking import ask, node_ids
from tests.retrieval.factories import MemoryMaker
from workspaces.index.entries import drop_entries, set_entry_status

ASKED = "Which colour did you paint the boat shed?"
TOLD = "Dark red, with white corners."


def test_a_turn_that_shares_no_word_is_found_beside_the_one_that_does(
    words_only: MemoryMaker,
) -> None:
    words_only.leaf(ASKED, session="one", actor="Ana")
    told = words_only.leaf(TOLD, session="one", actor="Ben")
    apart = words_only.leaf("Blue, with a grey roof.", session="two", actor="Ben")

    answer = ask(words_only.workspace, "What colour is the boat shed?", mode="exact_evidence")

    assert str(told.id) in node_ids(answer)
    assert str(apart.id) not in node_ids(answer)
    [item] = [item for item in answer["evidence"] if item["node_id"] == str(told.id)]
    assert "answers" in item["reasons"]


def test_a_neighbour_that_is_gone_lends_nothing(words_only: MemoryMaker) -> None:
    asked = words_only.leaf(ASKED, session="one", actor="Ana")
    told = words_only.leaf(TOLD, session="one", actor="Ben")

    assert str(told.id) in node_ids(_asked(words_only))

    with workspace_scope(words_only.workspace, None):
        set_entry_status(words_only.workspace, node_ids=[asked.id], status="superseded")
    assert node_ids(_asked(words_only)) == []

    with workspace_scope(words_only.workspace, None):
        drop_entries(words_only.workspace, node_ids=[asked.id])
    assert node_ids(_asked(words_only)) == []


def test_a_filter_holds_for_neighbours_as_well(words_only: MemoryMaker) -> None:
    words_only.leaf(ASKED, session="one", labels=["house"])
    words_only.leaf(TOLD, session="one")

    found = node_ids(_asked(words_only, labels=["house"]))

    assert len(found) == 1


def _asked(memory: MemoryMaker, **values: Any) -> dict[str, Any]:
    return ask(memory.workspace, "What colour is the boat shed?", mode="exact_evidence", **values)
