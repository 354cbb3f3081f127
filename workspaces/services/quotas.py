"""What a tenant may hold and use: looked at before the work, so that nothing is lost.

At the limit of leaves or bytes events are received and wait; at the limit of tokens or cost the
work that needs a model waits for the next day (UTC). When a limit is raised, what waits goes on.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, Sum
from django.db.models.functions import Now
from pydantic import ValidationError

from holamem.clock import now
from holamem.database.scope import system_scope
from holamem.errors import InvalidInput, LimitExceeded
from holamem.queue import wake_on_commit
from workspaces.models.jobs import Job
from workspaces.models.log import Event
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.models.trees import (
    GONE_LEAVES,
    LIVE_SUMMARIES,
    SourceLeaf,
    SummaryNode,
    Tree,
)
from workspaces.models.usage import UsageDay
from workspaces.settings import TenantQuotas

# Leaves are counted by their trees before every batch of events. Bytes are summed over their rows
# at most this often by each process, unless less than this is left: more than comes meanwhile.
COUNT_SECONDS = 5
NEAR_BYTES = 4_000_000
HOLD_SECONDS = 300  # memory may be forgotten meanwhile; raising a limit wakes at once
WAKE_UPS = 4


class QuotaReached(LimitExceeded):
    """`detail` has `quota`, `limit` and `used`."""

    code = "quota_reached"

    def __init__(self, quota: "QuotaUse", *, retry_after_seconds: float) -> None:
        super().__init__(
            f"{quota.name}: the tenant's limit of {quota.limit} is reached.",
            detail={"quota": quota.name, "limit": str(quota.limit), "used": str(quota.used)},
        )
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """`limit` None: there is none."""

    name: str
    limit: Decimal | int | None
    used: Decimal | int

    @property
    def is_reached(self) -> bool:
        return self.limit is not None and self.used >= self.limit


def require_tokens(workspace: Workspace) -> None:
    """Ask before a model call. Raises QuotaReached at the day's limit of tokens or cost.

    A call that is under way ends, so the limit is passed by at most the calls of one moment.
    """
    limits = _limits(workspace)
    if limits.tokens_per_day is None and limits.cost_per_day is None:
        return
    for quota in _used_today(workspace.tenant_id, limits=limits):
        if quota.is_reached:
            raise QuotaReached(quota, retry_after_seconds=_until_tomorrow())


def room_for_events(workspace: Workspace, *, wanted: int) -> tuple[int, QuotaReached | None]:
    """How many of the events may be judged now, and the limit that the others have met.

    As if each of them became a leaf: the limit is passed by what the last one has more of.
    """
    limits = _limits(workspace)
    quotas = [_leaves(workspace.tenant_id, limits), _bytes(workspace.tenant_id, limits)]
    for quota in quotas:
        if quota.is_reached:
            return 0, QuotaReached(quota, retry_after_seconds=HOLD_SECONDS)
    left = wanted if limits.leaves is None else limits.leaves - int(quotas[0].used)
    if left >= wanted:
        return wanted, None
    return left, QuotaReached(quotas[0], retry_after_seconds=HOLD_SECONDS)


def require_room_for(workspace: Workspace, *, leaves: int, size: int) -> None:
    """Before so many leaves and bytes come in at once. Raises QuotaReached."""
    limits = _limits(workspace)
    held = [
        (_leaves(workspace.tenant_id, limits), leaves),
        (_bytes(workspace.tenant_id, limits), size),
    ]
    for quota, more in held:
        if quota.limit is not None and quota.used + more > quota.limit:
            raise QuotaReached(quota, retry_after_seconds=HOLD_SECONDS)


def quota_uses(tenant_id: UUID) -> list[QuotaUse]:
    """Every quota with its use, counted now."""
    with system_scope():
        limits = Tenant.objects.get(id=tenant_id).limits
    return [
        QuotaUse("leaves", limits.leaves, _count_leaves(tenant_id)),
        QuotaUse("bytes", limits.bytes, _sum_bytes(tenant_id)),
        *_used_today(tenant_id, limits=limits),
    ]


def _limits(workspace: Workspace) -> TenantQuotas:
    """As they are now: a worker may have had the workspace for a while."""
    with system_scope():
        return Tenant.objects.only("quotas").get(id=workspace.tenant_id).limits


def _used_today(tenant_id: UUID, *, limits: TenantQuotas) -> list[QuotaUse]:
    with system_scope():
        days = UsageDay.objects.filter(workspace__tenant_id=tenant_id, day=_today())
        used = days.aggregate(
            input=Sum("input_tokens"), output=Sum("output_tokens"), cost=Sum("cost")
        )
    tokens = (used["input"] or 0) + (used["output"] or 0)
    return [
        QuotaUse("tokens_per_day", limits.tokens_per_day, tokens),
        QuotaUse("cost_per_day", limits.cost_per_day, used["cost"] or Decimal(0)),
    ]


def _today() -> date:
    return now().astimezone(UTC).date()


def _until_tomorrow() -> float:
    midnight = datetime.combine(_today() + timedelta(days=1), datetime.min.time(), UTC)
    return (midnight - now()).total_seconds() + 1


def _leaves(tenant_id: UUID, limits: TenantQuotas) -> QuotaUse:
    used = 0 if limits.leaves is None else _count_leaves(tenant_id)
    return QuotaUse("leaves", limits.leaves, used)


def _count_leaves(tenant_id: UUID) -> int:
    with system_scope():
        return _sum(Tree.objects.filter(workspace__tenant_id=tenant_id), "leaf_count")


_summed: dict[UUID, tuple[float, int]] = {}  # when, by the monotonic clock, and the bytes


def _bytes(tenant_id: UUID, limits: TenantQuotas) -> QuotaUse:
    if limits.bytes is None:
        return QuotaUse("bytes", None, 0)
    summed_at, used = _summed.get(tenant_id, (float("-inf"), 0))
    is_old = time.monotonic() - summed_at > COUNT_SECONDS
    if is_old or used + NEAR_BYTES >= limits.bytes:
        used = _sum_bytes(tenant_id)
        _summed[tenant_id] = (time.monotonic(), used)
    return QuotaUse("bytes", limits.bytes, used)


def _sum_bytes(tenant_id: UUID) -> int:
    of_tenant = {"workspace__tenant_id": tenant_id}
    with system_scope():
        kept = SourceLeaf.objects.filter(**of_tenant).exclude(status__in=GONE_LEAVES)
        live = SummaryNode.objects.filter(**of_tenant, status__in=LIVE_SUMMARIES)
        return _sum(kept, "body_bytes") + _sum(live, "body_bytes")


def _sum(rows: QuerySet[Any], column: str) -> int:
    return int(rows.order_by().aggregate(sum=Sum(column))["sum"] or 0)


def set_quotas(tenant: Tenant, *, quotas: Mapping[str, object]) -> Tenant:
    """Replace all of them; what waited for one is due again. Raises InvalidInput."""
    validated = validate_quotas(quotas)
    with system_scope():
        Tenant.objects.filter(id=tenant.id).update(quotas=validated)
        release_held(tenant.id)
    tenant.quotas = validated
    return tenant


def validate_quotas(values: Mapping[str, object]) -> dict[str, object]:
    """As they are stored: only what was set."""
    try:
        model = TenantQuotas.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in ("quotas", *first["loc"]))
        raise InvalidInput(f"{first['msg']}.", field=field) from error
    return model.model_dump(mode="json", exclude_none=True)


def release_held(tenant_id: UUID) -> None:
    """Inside the caller's step as the system: jobs that waited for a quota are due again."""
    waiting = Job.objects.filter(
        workspace__tenant_id=tenant_id,
        state=Job.State.READY,
        error__startswith=QuotaReached.code,
    )
    first = list(waiting.order_by("priority", "id").values_list("id", flat=True)[:WAKE_UPS])
    waiting.update(next_try_at=Now())
    for job_id in first:
        wake_on_commit(job_id)


def reached_quota(error: str) -> str:
    """The quota's name in what a job that waits for it says."""
    return error.split(": ")[1]


def hold_back(workspace_id: UUID, *, topic: str, error: QuotaReached) -> None:
    """Let all due work of this topic wait as the job that met the limit does, and say so.

    In one statement, so that a long queue is not taken up job by job only to be put back.
    """
    text = f"{error.code}: {error}"
    pause = timedelta(seconds=error.retry_after_seconds)
    with system_scope():
        due = Job.objects.filter(
            workspace_id=workspace_id,
            topic=topic,
            state=Job.State.READY,
            next_try_at__lte=Now(),
        )
        due.update(next_try_at=Now() + pause, error=text)
        if topic == Job.Topic.EVENT_RECEIVED:
            waiting = (Event.Status.RECEIVED, Event.Status.PROCESSING, Event.Status.FAILED)
            Event.objects.filter(workspace_id=workspace_id, status__in=waiting).exclude(
                error=text
            ).update(error=text)
