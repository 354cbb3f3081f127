"""In a large memory common words bring no text by themselves, met before or not."""

from collections.abc import Iterator

import pytest

from holamem.database import prepared
from tests.retrieval.factories import MemoryMaker
from workspaces.index import scale
from workspaces.index.scale import Memories, Scale, memories
from workspaces.index.search import Found, NodeFilter, SearchInput, search_nodes
from workspaces.models.tenancy import Workspace

LARGE = 12


@pytest.fixture
def large(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryMaker]:
    """Twelve texts are many here, and what two of them hold is not yet common."""
    monkeypatch.setattr(scale, "LARGE_FROM", LARGE)
    monkeypatch.setattr(scale, "COMMON_SHARE", 0.2)
    memories.forget()
    maker = MemoryMaker(workspace, with_vectors=False)
    for number in range(LARGE):
        maker.leaf(f"The harbour is open, berth{number} says.")
    yield maker
    memories.forget()


def found_by(maker: MemoryMaker, *terms: str) -> Found:
    asked = SearchInput(terms=terms, vectors=(), model_name="", leaf_limit=50)
    return search_nodes(maker.workspace, scopes=None, search=asked, where=NodeFilter())


def test_a_common_word_adds_to_what_a_rare_one_brings(large: MemoryMaker) -> None:
    first = found_by(large, "harbour", "berth3")
    again = found_by(large, "harbour", "berth3")

    assert [node.term_counts for node in first.nodes] == [(1, 1)]
    assert again == first
    assert first.document_frequencies == (LARGE, 1)


def test_nothing_but_common_words_bring_all(large: MemoryMaker) -> None:
    assert len(found_by(large, "harbour", "nowhere").nodes) == LARGE
    assert len(found_by(large, "harbour", "nowhere").nodes) == LARGE
    assert len(found_by(large, "harbour").nodes) == LARGE


def test_a_small_memory_is_counted_every_time(words_only: MemoryMaker) -> None:
    words_only.leaf("The harbour is open.")
    words_only.leaf("The harbour has berth3.")

    assert len(found_by(words_only, "harbour", "berth3").nodes) == 2
    words_only.leaf("The harbour is shut.")
    assert found_by(words_only, "harbour").documents == 3


def test_a_large_memory_is_counted_once(
    large: MemoryMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    real = prepared.fetch_rows

    def recording(statement: str, values: dict[str, object]) -> list[tuple[object, ...]]:
        sent.append(statement)
        return real(statement, values)

    monkeypatch.setattr(prepared, "fetch_rows", recording)
    found_by(large, "berth1")
    found_by(large, "berth2")

    assert ["count(*)::float8" in statement for statement in sent] == [True, False]


def test_what_shrank_is_forgotten_and_what_is_old_is_counted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = Memories()
    known.learn("m", scale=Scale(100_000, 9.0), frequencies={"harbour": 90_000, "berth": 3})
    assert known.common_words("m", ["harbour", "berth"]) == {"harbour": 90_000}

    with monkeypatch.context() as patch:
        patch.setattr(scale, "REMEMBERED_SECONDS", 0.0)
        known.learn("old", scale=Scale(100_000, 9.0), frequencies={"harbour": 90_000})
        assert known.scale_of("old") is None
        assert known.common_words("old", ["harbour"]) == {}
    known.learn("old", scale=Scale(100_001, 9.0), frequencies={})
    assert known.scale_of("old") == Scale(100_001, 9.0)
    assert known.common_words("old", ["harbour"]) == {}
    known.learn("m", scale=Scale(5, 9.0), frequencies={})
    assert known.scale_of("m") is None
