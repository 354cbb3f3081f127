"""What the charts of questions and gaps are drawn from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Avg, Count
from django.db.models.functions import TruncDate

from holamem.database.scope import workspace_scope
from retrieval.models import Gap, RetrievalLog
from workspaces.models.tenancy import Workspace
from workspaces.services.activity import counts_by_day, last_days, start_of
from workspaces.services.overview import DayCount

Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class DayOfQuestions:
    """`coverage` is the mean of the day's questions, 0 to 1; None without a question."""

    day: date
    asked: int
    coverage: float | None


@dataclass(frozen=True, slots=True)
class Asked:
    """Days are of the zone, oldest first."""

    questions: list[DayOfQuestions]
    opened: list[DayCount]
    closed: list[DayCount]


def asked_per_day(workspace: Workspace, *, scopes: Scopes, zone: ZoneInfo) -> Asked:
    """Three queries. A gap that was opened again counts on the day when it was first asked."""
    days = last_days(zone)
    start = start_of(days[0], zone)
    gaps = Gap.objects.filter(workspace=workspace)
    with workspace_scope(workspace, scopes):
        questions = _questions(workspace, days=days, zone=zone)
        opened = gaps.filter(first_asked_at__gte=start)
        closed = gaps.filter(closed_at__gte=start)
        return Asked(
            questions,
            counts_by_day(opened, field="first_asked_at", days=days, zone=zone),
            counts_by_day(closed, field="closed_at", days=days, zone=zone),
        )


def _questions(
    workspace: Workspace, *, days: Sequence[date], zone: ZoneInfo
) -> list[DayOfQuestions]:
    start = start_of(days[0], zone)
    rows = (
        RetrievalLog.objects.filter(workspace=workspace, created_at__gte=start)
        .order_by()
        .annotate(day=TruncDate("created_at", tzinfo=zone))
        .values("day")
        .annotate(asked=Count("id"), mean=Avg("coverage_score"))
        .values_list("day", "asked", "mean")
    )
    found = {day: (asked, mean) for day, asked, mean in rows}
    return [DayOfQuestions(day, *found.get(day, (0, None))) for day in days]
