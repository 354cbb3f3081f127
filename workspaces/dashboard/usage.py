"""Page: what the calls of chat models took, by day and purpose, and which services are let alone."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.http import HttpRequest, HttpResponse

from workspaces.dashboard.page import Place, render_page, workspace_page
from workspaces.dashboard.stacks import DayOfKinds, StackChart, draw_stacks
from workspaces.services.circuits import circuits_of
from workspaces.services.quotas import quota_uses
from workspaces.services.usage import DayOfUsage, UsageReport, usage_by_day


@dataclass(frozen=True, slots=True)
class PurposeTotal:
    purpose: str
    calls: int
    without_answer: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None


@workspace_page
def usage(request: HttpRequest, place: Place) -> HttpResponse:
    place.require_admin()
    report = usage_by_day(place.workspace)
    return render_page(
        request,
        "dashboard/usage.html",
        place,
        section="settings",
        tab="usage",
        report=report,
        chart=chart_of(report),
        costs=costs_of(report),
        purposes=totals_of(report.days),
        quotas=quota_uses(place.tenant.id),
        circuits=circuits_of(place.workspace),
    )


def chart_of(report: UsageReport) -> StackChart:
    """Tokens of each day of the span, also of those without a call."""
    by_day: dict[object, Counter[str]] = {}
    for row in report.days:
        tokens = row.taken.input_tokens + row.taken.output_tokens
        by_day.setdefault(row.day, Counter())[row.purpose] += tokens
    return draw_stacks([DayOfKinds(day, by_day.get(day, Counter())) for day in _days(report)])


MICRO = 1_000_000  # of a dollar: bars are drawn from whole numbers


def costs_of(report: UsageReport) -> StackChart | None:
    """Millionths of a dollar of each day; None while no call has a price."""
    if not report.total.cost:
        return None
    by_day: dict[object, Counter[str]] = {}
    for row in report.days:
        if row.taken.cost:
            by_day.setdefault(row.day, Counter())[row.purpose] += int(row.taken.cost * MICRO)
    return draw_stacks([DayOfKinds(day, by_day.get(day, Counter())) for day in _days(report)])


def _days(report: UsageReport) -> list[date]:
    span = range((report.until - report.since).days + 1)
    return [report.since + timedelta(days=offset) for offset in span]


def totals_of(days: Sequence[DayOfUsage]) -> list[PurposeTotal]:
    """The one with the most tokens first."""
    rows: dict[str, list[DayOfUsage]] = {}
    for row in days:
        rows.setdefault(row.purpose, []).append(row)
    totals = [
        PurposeTotal(
            purpose=purpose,
            calls=sum(row.taken.calls for row in found),
            without_answer=sum(row.taken.without_answer for row in found),
            input_tokens=sum(row.taken.input_tokens for row in found),
            output_tokens=sum(row.taken.output_tokens for row in found),
            cost=_sum_of_costs(found),
        )
        for purpose, found in rows.items()
    ]
    return sorted(totals, key=lambda item: -(item.input_tokens + item.output_tokens))


def _sum_of_costs(rows: Sequence[DayOfUsage]) -> Decimal | None:
    """None when no call of them has a price."""
    costs = [row.taken.cost for row in rows if row.taken.cost is not None]
    return sum(costs, Decimal(0)) if costs else None
