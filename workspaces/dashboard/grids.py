"""Two drawings without a time axis: a week by hours, and trees by the age of their leaves."""

from collections.abc import Sequence
from dataclasses import dataclass

from workspaces.dashboard.charts import LEFT_PERCENT
from workspaces.services.activity import HOURS, TreeAge

CELL_HEIGHT, CELL_GAP = 18, 2
SHADES = 4  # beside the empty one
BAR_HEIGHT, ROW_HEIGHT = 10, 28


@dataclass(frozen=True, slots=True)
class Cell:
    """`shade` is 0 for nothing and SHADES for the most."""

    x: str
    width: str
    y: int
    shade: int
    hour: int
    count: int


@dataclass(frozen=True, slots=True)
class WeekRow:
    weekday: int
    label_y: int
    cells: list[Cell]
    total: int


@dataclass(frozen=True, slots=True)
class WeekChart:
    rows: list[WeekRow]
    hours: list[tuple[str, int]]
    hours_y: int
    height: int
    most: int
    total: int


def draw_week(counts: Sequence[Sequence[int]]) -> WeekChart:
    """Rows are weekdays from Monday, columns are hours."""
    most = max((count for row in counts for count in row), default=0)
    rows = [_week_row(weekday, row, most) for weekday, row in enumerate(counts)]
    bottom = len(rows) * (CELL_HEIGHT + CELL_GAP)
    hours = [(f"{_x(hour):.2f}%", hour) for hour in range(0, HOURS, 6)]
    total = sum(row.total for row in rows)
    return WeekChart(rows, hours, bottom + 14, bottom + 20, most, total)


def _week_row(weekday: int, counts: Sequence[int], most: int) -> WeekRow:
    y = weekday * (CELL_HEIGHT + CELL_GAP)
    width = f"{_x(1) - _x(0) - 0.2:.2f}%"
    cells = [
        Cell(f"{_x(hour):.2f}%", width, y, shade_of(count, most), hour, count)
        for hour, count in enumerate(counts)
    ]
    return WeekRow(weekday, y + CELL_HEIGHT - 5, cells, sum(counts))


def shade_of(count: int, most: int) -> int:
    """Equal steps up to the most; a single one is never drawn as nothing."""
    return 0 if not count else max(1, -(-SHADES * count // most))


def _x(hour: int) -> float:
    return LEFT_PERCENT + hour * (100 - LEFT_PERCENT) / HOURS


@dataclass(frozen=True, slots=True)
class AgePart:
    """`series` counts from 1, the freshest first."""

    series: int
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class AgeRow:
    tree: TreeAge
    label_y: int
    y: int
    parts: list[AgePart]


@dataclass(frozen=True, slots=True)
class AgeChart:
    rows: list[AgeRow]
    height: int
    bar_height: int


def draw_ages(trees: Sequence[TreeAge]) -> AgeChart:
    """One bar for each tree, as long as its share of the largest one."""
    largest = max((tree.fresh + tree.recent + tree.older for tree in trees), default=1)
    rows = [_age_row(number, tree, largest) for number, tree in enumerate(trees)]
    return AgeChart(rows, len(rows) * ROW_HEIGHT, BAR_HEIGHT)


def _age_row(number: int, tree: TreeAge, largest: int) -> AgeRow:
    top = number * ROW_HEIGHT
    x = 0.0
    parts = []
    for series, count in enumerate((tree.fresh, tree.recent, tree.older), 1):
        width = 100 * count / largest
        if count:
            parts.append(AgePart(series, f"{x:.2f}%", f"{width:.2f}%"))
        x += width
    return AgeRow(tree, top + 12, top + 16, parts)
