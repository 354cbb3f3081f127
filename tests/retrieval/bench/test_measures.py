import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from retrieval.bench.asking import measure_statements, sample_questions
from retrieval.bench.growing import Costs, measure_seal
from retrieval.bench.ingest import facts
from retrieval.bench.measures import Measure, as_json, as_table, from_json, percentile, spread
from retrieval.bench.writing import made_texts, resident_bytes
from tests.workspaces.memory import ATLAS_FACTS, draft, remember
from workspaces.models.tenancy import Workspace


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert percentile(values, 0.5) == 3.0
    assert percentile(values, 0.95) == 5.0
    assert percentile([7.0], 0.5) == 7.0


def test_nothing_measured_has_no_percentile_and_no_lines() -> None:
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 0.5)
    assert spread("wait", []) == []


def test_measures_are_shown_to_people_and_to_programs() -> None:
    measures = [Measure("first_start", 2.5, "s"), Measure("stop", 0.25, "s")]
    assert as_table(measures).splitlines() == [
        "first_start         2.5 s",
        "stop               0.25 s",
    ]
    assert as_json(measures)["stop"] == {"value": 0.25, "unit": "s"}


def test_a_target_is_shown_and_says_whether_it_is_met() -> None:
    measures = [
        Measure("share", 0.5, "", at_least=0.6),
        Measure("nodes", 1.5, "", at_most=1.5),
        Measure("texts", 3, "texts"),
    ]
    assert [measure.is_missed for measure in measures] == [True, False, False]
    assert [line.split()[-1] for line in as_table(measures).splitlines()] == [
        "MISSED",
        "met",
        "texts",
    ]
    assert as_json(measures)["share"]["met"] is False
    assert from_json(json.loads(json.dumps(as_json(measures)))) == measures


def test_the_texts_are_distinct_the_same_each_time_and_in_both_languages() -> None:
    made = made_texts(200)
    assert len(set(made)) == 200
    assert made == made_texts(200)
    chinese = [text for text in made if any("\u4e00" <= sign <= "\u9fff" for sign in text)]
    assert len(chinese) == 100


@pytest.mark.slow
def test_a_tree_that_grows_costs_less_than_a_node_for_each_leaf() -> None:
    measured = {measure.name: measure for measure in measure_seal(leaves=100)}
    assert not measured["nodes_per_leaf_100"].is_missed
    assert measured["calls_per_leaf_100"].value == measured["nodes_per_leaf_100"].value > 0
    assert measured["files_moved_per_leaf_100"].value > 0  # it grew by a level
    assert not measured["replacements_per_superseded_leaf"].is_missed
    assert measured["replacements_per_superseded_leaf"].value == measured["depth"].value


def test_nothing_is_counted_before_there_is_a_pass() -> None:
    assert (Costs().nodes, Costs().calls, Costs().seconds) == (0, 0, 0.0)
    assert resident_bytes() > 1_000_000


def test_a_missed_target_ends_the_command_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    output = StringIO()
    missed = [Measure("leaves", 3, "leaves/s", at_least=150)]
    monkeypatch.setattr("retrieval.management.commands.bench.measure_alone", lambda _: missed)
    with pytest.raises(CommandError, match="Missed: leaves"):
        call_command("bench", "write", "--json", stdout=output)
    assert json.loads(output.getvalue())["leaves"]["met"] is False


def test_every_made_up_fact_is_another_one() -> None:
    made = list(facts(50))
    assert len({text.split()[1] for text in made}) == 50


def test_the_questions_come_in_both_languages() -> None:
    asked = "".join(sample_questions())
    assert any("\u4e00" <= character <= "\u9fff" for character in asked)
    assert "gateway" in asked


def test_an_answer_takes_at_most_six_statements(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:9])])
    counted = {m.name: m.value for m in measure_statements(workspace, asked=sample_questions(3))}
    assert 1 <= counted["statements_max"] <= 6


def test_the_command_counts_statements_of_a_named_workspace(workspace: Workspace) -> None:
    output = StringIO()
    call_command(
        "bench", "statements", "--json", "--workspace", workspace.slug, "--questions", "1",
        stdout=output,
    )  # fmt: skip
    assert json.loads(output.getvalue())["statements_max"]["unit"] == "statements"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["statements", "--workspace", "nowhere-at-all"], "no such workspace"),
        (["ingest", "--url", "http://127.0.0.1:9"], "belong together"),
        (
            ["retrieve", "--url", "http://127.0.0.1:9", "--key", "k", "--workspace", "w"],
            "refused",
        ),
    ],
)
def test_what_cannot_be_measured_is_said(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("bench", *arguments)
