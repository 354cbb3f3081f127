"""What questions cost is measured on memories that were never told turn by turn."""

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from retrieval.bench import cost
from retrieval.bench.cost import measure_cost
from retrieval.bench.seeding import Seeder
from tests.retrieval.asking import ask
from workspaces.models.tenancy import Workspace

pytestmark = pytest.mark.slow  # embeds the sample, and asks all of its questions


def test_a_seeded_memory_answers_like_one_that_was_told(workspace: Workspace) -> None:
    Seeder().fill(workspace, leaves=250)

    answer = ask(workspace, "Which region does the Atlas gateway run in?")

    assert len(answer["evidence"]) == 12
    assert answer["coverage"]["searched"]["bodies_read"] == 12
    assert answer["degraded"] == []
    assert all(item["sources"] and item["excerpt"] for item in answer["evidence"])
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.leaves.filter(parent__isnull=False).count() == 250
        assert workspace.summaries.count() == 25
        assert workspace.vector_entries.count() == workspace.lexeme_entries.count() == 275


def test_every_size_is_measured_beside_its_bare_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "SMALLER", (20,))
    monkeypatch.setattr(cost, "COMPARED_WITH", 20)
    monkeypatch.setattr(cost, "sample_questions", lambda: ["Where does Atlas run?", "谁值班？"])

    measured = {measure.name: measure for measure in measure_cost(leaves=40, others=1, rounds=1)}

    assert measured["of_bare_20"].value > 1
    assert measured["of_bare_40"].value > 1
    assert measured["growth_40_of_20"].at_most == 4
    assert 1 <= measured["statements_max_40"].value <= 6
    assert measured["files_max_40"].value <= 12
    assert measured["index_bytes_per_leaf"].value > 0
