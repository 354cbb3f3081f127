"""A gap is filled on its page: the fact becomes a leaf, and the leaf closes it."""

import pytest
from django.test import Client

from holamem.database.scope import ALL_SCOPES, workspace_scope
from retrieval.dashboard.reads import answer_of
from retrieval.models import Gap
from tests.dashboard.memory import FACTS, add_gap
from tests.dashboard.pages import Memory, messages_in, page_of
from tests.workspaces.memory import drain


@pytest.fixture
def gap(memory: Memory) -> Gap:
    with workspace_scope(memory.workspace, ALL_SCOPES):
        return add_gap(memory.workspace, question="Who waters the plants?")


def address(memory: Memory, gap: Gap, rest: str = "") -> str:
    return memory.address(f"gaps/{gap.id}/{rest}")


def test_a_gap_that_is_filled_closes_and_shows_its_leaf(
    memory: Memory, member: Client, gap: Gap
) -> None:
    page = page_of(member.get(address(memory, gap)))
    assert "Who waters the plants?" in page
    assert "the shared memory" in page
    fact = "Pavel Novak waters the plants of the Prague office."
    member.post(address(memory, gap, "fill/"), {"text": fact})
    waiting = page_of(member.get(address(memory, gap)))
    assert "is written down" in messages_in(waiting)
    assert "Being written" in waiting
    drain(memory.workspace)
    page = page_of(member.get(address(memory, gap)))
    assert fact in page.split("The leaf that answers it")[1]
    assert "Being written" not in page


def test_a_fact_that_memory_had_already_closes_the_gap_by_a_button(
    memory: Memory, member: Client, gap: Gap
) -> None:
    member.post(address(memory, gap, "fill/"), {"text": FACTS[0]})
    drain(memory.workspace)
    assert "Close gap with this leaf" in page_of(member.get(address(memory, gap)))
    member.post(address(memory, gap, "close/"))
    with workspace_scope(memory.workspace, ALL_SCOPES):
        closed = Gap.objects.get(id=gap.id)
    answer = answer_of(memory.workspace, scopes=ALL_SCOPES, gap=closed)
    assert answer is not None
    assert answer.id == memory.leaf_id
    late = page_of(member.post(address(memory, gap, "fill/"), {"text": "Nobody."}))
    assert "This gap is closed already." in late


def test_an_empty_fact_is_told_and_nothing_is_written(
    memory: Memory, member: Client, gap: Gap
) -> None:
    page = page_of(member.post(address(memory, gap, "fill/"), {"text": "  "}))
    assert 'role="alert"' in page
    with workspace_scope(memory.workspace, ALL_SCOPES):
        assert memory.workspace.events.count() == 1
