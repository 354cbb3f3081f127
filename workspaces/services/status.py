"""How far a workspace's memory is behind what was written to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.fields import ArrayField
from django.db.models import Count, Min, Q, QuerySet, TextField, Value
from django.db.models.functions import Now

from holamem.clock import now
from holamem.database.scope import system_scope, workspace_scope
from holamem.errors import StorageFull, StorageRefused
from workspaces.models.jobs import Job
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LIVE_SUMMARIES, SourceLeaf, Tree
from workspaces.services.quotas import QuotaReached, reached_quota

PENDING = (Job.State.READY, Job.State.RUNNING)
BACKLOG_TOPICS = {
    "events": (Job.Topic.EVENT_RECEIVED,),
    "embeddings": (Job.Topic.NODE_CREATED,),
    "seals": (Job.Topic.TREE_DIRTY,),
}
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class WorkspaceStatus:
    """`leaves` are active ones, `summaries` sealed and stale ones.

    `backlog` counts ready, delayed and running jobs by purpose, and `parked` ones, which do not
    keep the workspace from being `idle`. `oldest_age_s`: seconds, 0 with nothing pending.
    `quotas_reached` are names of the tenant's quotas for which work of this workspace waits.
    """

    leaves: int
    summaries: int
    trees: int
    events: dict[str, int]
    backlog: dict[str, int]
    oldest_age_s: float
    idle: bool
    quotas_reached: list[str]


def workspace_status(workspace: Workspace, *, scopes: Scopes) -> WorkspaceStatus:
    """Five counts in one step."""
    with workspace_scope(workspace, scopes):
        jobs = _job_counts(workspace.jobs.all())
        return WorkspaceStatus(
            leaves=workspace.leaves.filter(status=SourceLeaf.Status.ACTIVE).count(),
            summaries=workspace.summaries.filter(status__in=LIVE_SUMMARIES).count(),
            trees=workspace.trees.exclude(status=Tree.Status.EMPTY).count(),
            events=_event_counts(workspace),
            backlog={name: jobs[name] for name in (*BACKLOG_TOPICS, "parked")},
            oldest_age_s=_seconds_since(jobs["oldest"]),
            idle=jobs["pending"] == 0,
            quotas_reached=sorted({reached_quota(error) for error in jobs["held"]}),
        )


def _event_counts(workspace: Workspace) -> dict[str, int]:
    counted = workspace.events.order_by().values("status").annotate(n=Count("id"))
    found = dict(counted.values_list("status", "n"))
    return {status: found.get(status, 0) for status in Event.Status.values}


def _job_counts(jobs: QuerySet[Job]) -> dict[str, Any]:
    """Without messages to webhooks, whose receivers may be away for days."""
    jobs = jobs.exclude(topic=Job.Topic.WEBHOOK_DELIVER)
    pending = Q(state__in=PENDING)
    by_topic = {
        name: Count("id", filter=pending & Q(topic__in=topics))
        for name, topics in BACKLOG_TOPICS.items()
    }
    return jobs.filter(pending | Q(state=Job.State.PARKED)).aggregate(
        **by_topic,
        parked=Count("id", filter=Q(state=Job.State.PARKED)),
        pending=Count("id", filter=pending),
        oldest=Min("created_at", filter=pending),
        held=ArrayAgg(
            "error",
            filter=Q(state=Job.State.READY, error__startswith=QuotaReached.code),
            distinct=True,
            default=Value([], output_field=ArrayField(TextField())),
        ),
    )


def _seconds_since(moment: datetime | None) -> float:
    return 0.0 if moment is None else max(0.0, (now() - moment).total_seconds())


def oldest_due_seconds() -> float:
    """How long the oldest due job of the installation has waited for a worker; 0 with none."""
    with system_scope():
        due = Job.objects.filter(state=Job.State.READY, next_try_at__lte=Now())
        return _seconds_since(due.aggregate(oldest=Min("next_try_at"))["oldest"])


def waits_for_storage() -> bool:
    """Whether work of the installation waits because the body store refused it, as it would again.

    A disk that fails without being full shows nowhere else; the mark goes with the next success.
    """
    refused = Q(error__startswith=StorageFull.code) | Q(error__startswith=StorageRefused.code)
    with system_scope():
        return Job.objects.filter(refused, state=Job.State.READY).exists()
