import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from retrieval.bench.asking import measure_statements, sample_questions
from retrieval.bench.ingest import facts
from retrieval.bench.measures import Measure, as_json, as_table, percentile, spread
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
