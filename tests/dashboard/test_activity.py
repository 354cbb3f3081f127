"""Charts of the last weeks: days without a value are a break, and each has its table."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from django.test import Client

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.ids import first_id_at, new_id
from retrieval.dashboard.activity_reads import asked_per_day
from retrieval.models import RetrievalLog
from tests.dashboard.memory import Filled, add_gap
from tests.dashboard.pages import page_of
from workspaces.dashboard.charts import BOTTOM, TOP, draw_pairs
from workspaces.dashboard.grids import SHADES, draw_ages, draw_week, shade_of
from workspaces.dashboard.lines import draw_lines, top_of_times
from workspaces.services.activity import TreeAge, workspace_activity
from workspaces.services.overview import DayCount


def test_the_page_draws_what_moved_with_a_table_behind_each_chart(
    owner: Client, filled: Filled
) -> None:
    page = page_of(owner.get(filled.address("activity/")))
    charts = page.count('<svg class="chart')
    assert charts == page.count("As a table") == 6
    assert page.count("<title id=") == page.count("<desc id=") == charts
    assert "Atlas" in page.split('id="ages"')[1]


def test_what_was_written_sealed_and_asked_today_is_counted(filled: Filled) -> None:
    workspace, zone = filled.workspace, filled.workspace.preferences.zone
    with workspace_scope(workspace, ALL_SCOPES):
        add_gap(workspace, question="Who repairs the printer?")
        RetrievalLog.objects.create(
            workspace=workspace,
            scope_id=workspace.id,
            query="Who?",
            intent="fact",
            coverage_level="high",
            coverage_score=0.5,
        )
    moved = workspace_activity(workspace, scopes=ALL_SCOPES, zone=zone)
    asked = asked_per_day(workspace, scopes=ALL_SCOPES, zone=zone)
    assert moved.seals[-1].count >= 1
    assert sum(map(sum, moved.written)) >= 10
    assert [wait.middle is not None for wait in moved.waits] == [False] * 29 + [True]
    assert moved.trees[0].older >= 8  # they were said in May
    assert asked.opened[-1].count >= 1
    assert [day.coverage for day in asked.questions[:-1]] == [None] * 29
    assert 0 < (asked.questions[-1].coverage or 0) <= 1


def test_a_line_breaks_where_a_value_is_missing() -> None:
    [line] = draw_lines([[0.0, 1.0, None, 0.5, None, None, 1.0, 1.0]], top_value=1.0).lines
    assert len(line.segments) == 2
    assert line.segments[0] == f"M0 {BOTTOM}L142.9 {TOP}"
    assert [y for _x, y in line.points] == [(BOTTOM + TOP) / 2]
    assert draw_lines([[None, None]], top_value=1.0).lines[0].label_y is None


def test_times_get_a_scale_that_holds_them() -> None:
    assert top_of_times([[0.2, None], [3.0]]) == 4
    assert top_of_times([[]]) == 1
    assert top_of_times([[40 * 86_400.0]]) >= 40 * 86_400


def test_pairs_share_one_scale() -> None:
    day = datetime(2026, 5, 1, tzinfo=UTC).date()
    chart = draw_pairs([DayCount(day, 8)], [DayCount(day, 2)])
    [first], [second] = chart.first, chart.second
    assert first.height == 4 * second.height
    assert float(first.x[:-1]) + float(first.width[:-1]) <= float(second.x[:-1])


def test_the_darkest_hour_is_the_busiest_and_one_event_is_seen() -> None:
    assert [shade_of(count, 100) for count in (0, 1, 26, 100)] == [0, 1, 2, SHADES]
    grid = [[0] * 24 for _ in range(7)]
    grid[2][9] = 5
    week = draw_week(grid)
    assert [cell.hour for row in week.rows for cell in row.cells if cell.shade] == [9]
    assert draw_week([[0] * 24] * 7).total == 0


def test_a_tree_is_as_long_as_its_share_of_the_largest() -> None:
    trees = [
        TreeAge(uuid4(), "large", fresh=5, recent=0, older=5, newest_at=now()),
        TreeAge(uuid4(), "small", fresh=0, recent=1, older=0, newest_at=now()),
    ]
    large, small = draw_ages(trees).rows
    assert [part.series for part in large.parts] == [1, 3]
    assert [part.width for part in small.parts] == ["10.00%"]


def test_ids_of_later_moments_are_not_below_the_bound() -> None:
    assert (
        first_id_at(now() - timedelta(seconds=1))
        < new_id()
        < first_id_at(now() + timedelta(days=1))
    )
