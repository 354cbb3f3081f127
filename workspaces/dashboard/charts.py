"""Bars for counts, as server-rendered SVG: x in percent, so that text never stretches."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from workspaces.services.overview import DayCount

TOP, BOTTOM = 16, 136  # pixels of the 160 high drawing; below is the axis with its labels
LEFT_PERCENT = 10.0  # wide enough for "100 %" and the name of a weekday beside it
GRID_LINES = 4
BAR_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Bar:
    x: str
    width: str
    y: int
    height: int
    day: date
    count: int
    is_today: bool


@dataclass(frozen=True, slots=True)
class Grid:
    y: int
    label_y: int
    value: int


@dataclass(frozen=True, slots=True)
class BarChart:
    bars: list[Bar]
    grid: list[Grid]
    baseline: int
    total: int


def draw_bars(days: Sequence[DayCount]) -> BarChart:
    """One bar a day from zero, the last day being today. Empty input gives an empty chart."""
    top_value = round_up(max((day.count for day in days), default=0))
    step = (100 - LEFT_PERCENT) / max(len(days), 1)
    bars = [
        _bar(day, LEFT_PERCENT + index * step, step, top_value, is_today=index == len(days) - 1)
        for index, day in enumerate(days)
    ]
    return BarChart(bars, grid_lines(top_value), BOTTOM, sum(day.count for day in days))


@dataclass(frozen=True, slots=True)
class PairChart:
    """Two bars a day, `first` at the left of `second`."""

    first: list[Bar]
    second: list[Bar]
    grid: list[Grid]
    baseline: int
    totals: tuple[int, int]


def draw_pairs(first: Sequence[DayCount], second: Sequence[DayCount]) -> PairChart:
    """Both of the same days and on the same scale, the last day being today."""
    top_value = round_up(max((day.count for day in (*first, *second)), default=0))
    step = (100 - LEFT_PERCENT) / max(len(first), 1)
    drawn = [
        [
            _bar(
                day,
                LEFT_PERCENT + index * step + shift * step / 2,
                step / 2,
                top_value,
                is_today=index == len(days) - 1,
            )
            for index, day in enumerate(days)
        ]
        for shift, days in enumerate((first, second))
    ]
    totals = (sum(day.count for day in first), sum(day.count for day in second))
    return PairChart(drawn[0], drawn[1], grid_lines(top_value), BOTTOM, totals)


def _bar(day: DayCount, x: float, step: float, top_value: int, *, is_today: bool) -> Bar:
    height = round((BOTTOM - TOP) * day.count / top_value)
    if day.count and height < 2:
        height = 2
    return Bar(
        f"{x + step * (1 - BAR_SHARE) / 2:.2f}%",
        f"{step * BAR_SHARE:.2f}%",
        BOTTOM - height,
        height,
        day.day,
        day.count,
        is_today,
    )


def grid_lines(top_value: int) -> list[Grid]:
    lines = min(GRID_LINES, top_value)
    values = sorted({round(top_value * number / lines) for number in range(1, lines + 1)})
    return [_line(value, top_value) for value in values]


def _line(value: int, top_value: int) -> Grid:
    y = BOTTOM - round((BOTTOM - TOP) * value / top_value)
    return Grid(y, y + 4, value)


def round_up(value: int) -> int:
    """The next number that divides well by four: 4, 8, 20, 40, 80, 200 …"""
    if value <= GRID_LINES:
        return GRID_LINES
    magnitude: int = 10 ** math.floor(math.log10(value / GRID_LINES))
    for factor in (1, 2, 5, 10):
        if value <= GRID_LINES * magnitude * factor:
            return GRID_LINES * magnitude * factor
    return value
