"""What a workspace holds and how it moves, for its first page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Count, Min, Q, Sum
from django.db.models.functions import Coalesce, TruncDate

from holamem.clock import now
from holamem.database.scope import workspace_scope
from workspaces.models.jobs import Job
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LIVE_SUMMARIES, SourceLeaf, SummaryNode, Tree

CHART_DAYS = 30
RECENT_LEAVES = 8
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class DayCount:
    day: date
    count: int


@dataclass(frozen=True, slots=True)
class LeafLine:
    id: UUID
    title: str
    language: str
    status: str
    tree_id: UUID
    tree_title: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Overview:
    """`per_day` has one entry a day, oldest first, zero where nothing was written.

    `waiting` counts jobs that are ready or running; `oldest_waiting_at` is None without any.
    """

    leaves: int
    summaries: int
    stale_summaries: int
    trees: int
    has_events: bool
    failed_events: int
    waiting: int
    parked: int
    oldest_waiting_at: datetime | None
    unindexed: int
    per_day: list[DayCount]
    recent: list[LeafLine]


def workspace_overview(workspace: Workspace, *, scopes: Scopes, zone: ZoneInfo) -> Overview:
    """Nine queries, whatever the size of the memory. Days are days of `zone`."""
    with workspace_scope(workspace, scopes):
        # Each tree counts its active leaves; counting them here is a walk through all of them.
        trees = workspace.trees.filter(status=Tree.Status.ACTIVE).aggregate(
            all=Count("id"), leaves=Coalesce(Sum("leaf_count"), 0)
        )
        summaries = workspace.summaries.filter(status__in=LIVE_SUMMARIES).aggregate(
            live=Count("id"), stale=Count("id", filter=Q(status=SummaryNode.Status.STALE))
        )
        failed = workspace.events.filter(status__in=[Event.Status.FAILED, Event.Status.DEAD])
        jobs = _job_counts(workspace)
        return Overview(
            leaves=trees["leaves"],
            summaries=summaries["live"],
            stale_summaries=summaries["stale"],
            trees=trees["all"],
            has_events=workspace.events.exists(),
            failed_events=failed.count(),
            waiting=jobs["waiting"],
            parked=jobs["parked"],
            oldest_waiting_at=jobs["oldest"],
            unindexed=max(0, trees["leaves"] - _indexed_leaves(workspace)),
            per_day=_leaves_per_day(workspace, zone=zone),
            recent=_recent_leaves(workspace),
        )


def _indexed_leaves(workspace: Workspace) -> int:
    return workspace.vector_entries.filter(kind="leaf", status="active").count()


def _job_counts(workspace: Workspace) -> dict[str, Any]:
    is_waiting = Q(state__in=[Job.State.READY, Job.State.RUNNING])
    return workspace.jobs.filter(is_waiting | Q(state=Job.State.PARKED)).aggregate(
        waiting=Count("id", filter=is_waiting),
        parked=Count("id", filter=Q(state=Job.State.PARKED)),
        oldest=Min("created_at", filter=is_waiting),
    )


def _leaves_per_day(workspace: Workspace, *, zone: ZoneInfo) -> list[DayCount]:
    today = now().astimezone(zone).date()
    first = today - timedelta(days=CHART_DAYS - 1)
    start = datetime(first.year, first.month, first.day, tzinfo=zone)
    counts = dict(
        workspace.leaves.filter(created_at__gte=start)
        .annotate(day=TruncDate("created_at", tzinfo=zone))
        .values("day")
        .annotate(count=Count("id"))
        .values_list("day", "count")
    )
    days = [first + timedelta(days=offset) for offset in range(CHART_DAYS)]
    return [DayCount(day, counts.get(day, 0)) for day in days]


def _recent_leaves(workspace: Workspace) -> list[LeafLine]:
    rows = (
        workspace.leaves.filter(status=SourceLeaf.Status.ACTIVE)
        .select_related("tree")
        .order_by("-id")[:RECENT_LEAVES]
    )
    return [
        LeafLine(
            row.id, row.title, row.language, row.status, row.tree_id, row.tree.title, row.created_at
        )
        for row in rows
    ]
