"""Lines for rates and times, as server-rendered SVG; a day without a value is a break."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from workspaces.dashboard.charts import BOTTOM, TOP

VIEW_WIDTH = 1000  # of the lines' own coordinates, which are stretched over the chart
MINUTE, HOUR, DAY = 60, 3_600, 86_400
# Full scales of a time axis in seconds, each of which divides well by four.
TIME_SCALES = (1, 4, 20, MINUTE, 4 * MINUTE, 20 * MINUTE, HOUR, 4 * HOUR, DAY, 4 * DAY)


@dataclass(frozen=True, slots=True)
class Line:
    """`segments` are SVG paths between breaks; `points` are values with a break on both sides.

    `label_y` is where the line ends; None for one without a value.
    """

    series: int
    segments: list[str]
    points: list[tuple[float, float]]
    label_y: float | None


@dataclass(frozen=True, slots=True)
class Mark:
    y: float
    label_y: float
    value: float


@dataclass(frozen=True, slots=True)
class LineChart:
    lines: list[Line]
    grid: list[Mark]
    baseline: int
    width: int


def draw_lines(series: Sequence[Sequence[float | None]], *, top_value: float) -> LineChart:
    """One line for each series, all of one length, from zero to `top_value`."""
    lines = [_line(values, number, top_value) for number, values in enumerate(series, 1)]
    marks = [_mark(top_value * part / 4, top_value) for part in range(1, 5)]
    return LineChart(lines, marks, BOTTOM, VIEW_WIDTH)


def top_of_times(series: Sequence[Sequence[float | None]]) -> float:
    """The full scale in seconds for these times."""
    largest = max((value for values in series for value in values if value is not None), default=0)
    for scale in TIME_SCALES:
        if largest <= scale:
            return scale
    return math.ceil(largest / (4 * DAY)) * 4 * DAY


def _line(values: Sequence[float | None], number: int, top_value: float) -> Line:
    step = VIEW_WIDTH / max(len(values) - 1, 1)
    runs: list[list[tuple[float, float]]] = [[]]
    for index, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((round(index * step, 1), _y(value, top_value)))
    ends = [run for run in runs if run]
    return Line(
        number,
        segments=["M" + "L".join(f"{x:g} {y:g}" for x, y in run) for run in ends if len(run) > 1],
        points=[run[0] for run in ends if len(run) == 1],
        label_y=ends[-1][-1][1] if ends else None,
    )


def _mark(value: float, top_value: float) -> Mark:
    y = _y(value, top_value)
    return Mark(y, y + 4, value)


def _y(value: float, top_value: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * min(value, top_value) / top_value, 1)
