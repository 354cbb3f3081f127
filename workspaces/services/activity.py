"""How a workspace moved in the last weeks: what its charts show of the write side."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import (
    Aggregate,
    Count,
    DurationField,
    ExpressionWrapper,
    F,
    Max,
    Model,
    Q,
    QuerySet,
)
from django.db.models.functions import ExtractHour, ExtractIsoWeekDay, TruncDate

from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.ids import first_id_at
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree
from workspaces.services.overview import CHART_DAYS, DayCount

LARGEST_TREES = 10
FRESH_DAYS, RECENT_DAYS = 7, 30
WEEKDAYS, HOURS = 7, 24
Scopes = Sequence[UUID] | str | None
AnyRow = TypeVar("AnyRow", bound=Model)


@dataclass(frozen=True, slots=True)
class DayWait:
    """How long jobs that ended on this day had waited and run, in seconds; None without any."""

    day: date
    middle: float | None
    slow: float | None


@dataclass(frozen=True, slots=True)
class TreeAge:
    """Active leaves of one tree by the age of what they say."""

    id: UUID
    title: str
    fresh: int
    recent: int
    older: int
    newest_at: datetime


@dataclass(frozen=True, slots=True)
class Activity:
    """Days are of the zone, oldest first; `written` counts events by ISO weekday and hour, from
    Monday and midnight.
    """

    seals: list[DayCount]
    written: list[list[int]]
    waits: list[DayWait]
    trees: list[TreeAge]


class Percentile(Aggregate):
    function = "PERCENTILE_CONT"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"


def workspace_activity(workspace: Workspace, *, scopes: Scopes, zone: ZoneInfo) -> Activity:
    """Five queries, whatever the size of the memory."""
    days = last_days(zone)
    start = start_of(days[0], zone)
    with workspace_scope(workspace, scopes):
        return Activity(
            seals=_seals_per_day(workspace, days=days, start=start, zone=zone),
            written=_written_by_hour(workspace, start=start, zone=zone),
            waits=_waits_per_day(workspace, days=days, start=start, zone=zone),
            trees=_ages_of_trees(workspace),
        )


def last_days(zone: ZoneInfo) -> list[date]:
    """The days that a chart shows, today last."""
    today = now().astimezone(zone).date()
    return [today - timedelta(days=back) for back in reversed(range(CHART_DAYS))]


def start_of(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone)


def counts_by_day(
    rows: QuerySet[AnyRow], *, field: str, days: Sequence[date], zone: ZoneInfo
) -> list[DayCount]:
    """Zero where there is none. `rows` are those since the first of the days."""
    found = (
        rows.order_by()
        .annotate(day=TruncDate(field, tzinfo=zone))
        .values("day")
        .annotate(count=Count("id"))
        .values_list("day", "count")
    )
    counts = dict(found)
    return [DayCount(day, counts.get(day, 0)) for day in days]


def _seals_per_day(
    workspace: Workspace, *, days: Sequence[date], start: datetime, zone: ZoneInfo
) -> list[DayCount]:
    """Also of summaries that have been replaced since."""
    rows = workspace.summaries.filter(id__gte=first_id_at(start), sealed_at__gte=start)
    return counts_by_day(rows, field="sealed_at", days=days, zone=zone)


def _written_by_hour(workspace: Workspace, *, start: datetime, zone: ZoneInfo) -> list[list[int]]:
    rows = (
        workspace.events.filter(id__gte=first_id_at(start), received_at__gte=start)
        .order_by()
        .annotate(
            weekday=ExtractIsoWeekDay("received_at", tzinfo=zone),
            hour=ExtractHour("received_at", tzinfo=zone),
        )
        .values("weekday", "hour")
        .annotate(count=Count("id"))
    )
    grid = [[0] * HOURS for _ in range(WEEKDAYS)]
    for row in rows:
        grid[row["weekday"] - 1][row["hour"]] = row["count"]
    return grid


def _waits_per_day(
    workspace: Workspace, *, days: Sequence[date], start: datetime, zone: ZoneInfo
) -> list[DayWait]:
    waited = ExpressionWrapper(F("done_at") - F("created_at"), output_field=DurationField())
    rows = (
        workspace.jobs.filter(state=Job.State.DONE, id__gte=first_id_at(start), done_at__gte=start)
        .order_by()
        .annotate(day=TruncDate("done_at", tzinfo=zone), waited=waited)
        .values("day")
        .annotate(middle=Percentile("waited", share=0.5), slow=Percentile("waited", share=0.95))
    )
    found = {row["day"]: row for row in rows}
    return [_wait_of(day, found.get(day)) for day in days]


def _wait_of(day: date, row: dict[str, timedelta] | None) -> DayWait:
    if row is None:
        return DayWait(day, None, None)
    return DayWait(day, row["middle"].total_seconds(), row["slow"].total_seconds())


def _ages_of_trees(workspace: Workspace) -> list[TreeAge]:
    """Of the largest trees, the largest first."""
    largest = workspace.trees.filter(status=Tree.Status.ACTIVE).order_by("-leaf_count", "id")
    trees = dict(largest.values_list("id", "title")[:LARGEST_TREES])
    rows = _ages(workspace, tree_ids=trees)
    ages = {row.id: row for row in rows}
    return [ages[tree_id] for tree_id in trees if tree_id in ages]


def _ages(workspace: Workspace, *, tree_ids: dict[UUID, str]) -> Iterable[TreeAge]:
    moment = now()
    fresh = moment - timedelta(days=FRESH_DAYS)
    recent = moment - timedelta(days=RECENT_DAYS)
    rows = (
        workspace.leaves.filter(tree__in=tree_ids, status=SourceLeaf.Status.ACTIVE)
        .order_by()
        .values("tree")
        .annotate(
            fresh=Count("id", filter=Q(observed_at__gte=fresh)),
            recent=Count("id", filter=Q(observed_at__gte=recent, observed_at__lt=fresh)),
            older=Count("id", filter=Q(observed_at__lt=recent)),
            newest=Max("observed_at"),
        )
    )
    for row in rows:
        tree_id = row["tree"]
        yield TreeAge(
            tree_id,
            tree_ids[tree_id],
            row["fresh"],
            row["recent"],
            row["older"],
            row["newest"],
        )
