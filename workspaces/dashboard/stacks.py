"""Bars of several kinds upon each other, as server-rendered SVG: for counts with a purpose."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from workspaces.dashboard.charts import (
    BAR_SHARE,
    BOTTOM,
    LEFT_PERCENT,
    TOP,
    Grid,
    grid_lines,
    round_up,
)

SERIES = 3  # have a colour of their own; what is beyond is "other"
OTHER = ""


@dataclass(frozen=True, slots=True)
class DayOfKinds:
    day: date
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """`series` counts from 1; SERIES + 1 is "other"."""

    series: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class Stack:
    x: str
    width: str
    pieces: list[Piece]
    day: date
    total: int
    is_today: bool


@dataclass(frozen=True, slots=True)
class StackChart:
    """`kinds` are the names of the series, the largest first; OTHER for what has no colour."""

    stacks: list[Stack]
    kinds: list[tuple[int, str]]
    grid: list[Grid]
    baseline: int
    total: int


def draw_stacks(days: Sequence[DayOfKinds]) -> StackChart:
    """One bar a day from zero, the last day being today. Empty input gives an empty chart."""
    sums: Counter[str] = Counter()
    for day in days:
        sums.update(day.counts)
    series = {kind: number for number, (kind, _n) in enumerate(sums.most_common(SERIES), 1)}
    top_value = round_up(max((sum(day.counts.values()) for day in days), default=0))
    step = (100 - LEFT_PERCENT) / max(len(days), 1)
    stacks = [
        Stack(
            x=f"{LEFT_PERCENT + index * step + step * (1 - BAR_SHARE) / 2:.2f}%",
            width=f"{step * BAR_SHARE:.2f}%",
            pieces=_pieces(day.counts, series=series, top_value=top_value),
            day=day.day,
            total=sum(day.counts.values()),
            is_today=index == len(days) - 1,
        )
        for index, day in enumerate(days)
    ]
    kinds = [(number, kind) for kind, number in series.items()]
    if len(sums) > SERIES:
        kinds.append((SERIES + 1, OTHER))
    return StackChart(stacks, kinds, grid_lines(top_value), BOTTOM, sum(sums.values()))


def _pieces(counts: Mapping[str, int], *, series: Mapping[str, int], top_value: int) -> list[Piece]:
    """From the bottom up. Edges are rounded, not heights: the top is that of the sum."""
    grouped: Counter[int] = Counter()
    for kind, count in counts.items():
        grouped[series.get(kind, SERIES + 1)] += count
    pieces: list[Piece] = []
    below = 0
    for number, count in sorted(grouped.items()):
        low, high = (_y(value, top_value) for value in (below, below + count))
        below += count
        if count:
            pieces.append(Piece(number, high, max(low - high, 1)))
    return pieces


def _y(value: int, top_value: int) -> int:
    return BOTTOM - round((BOTTOM - TOP) * value / top_value)
