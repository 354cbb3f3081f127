"""When sessions are distilled: every night of the workspace's own clock, and when one is full.

A night is a row, so that each comes once, also after an outage; its sessions are jobs, so that
workers share them and no workspace holds up another.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, Max, Sum
from django.db.models.functions import Coalesce

from agents.distill.backlog import waiting_sessions
from agents.distill.evidence import new_messages
from agents.distill.passes import Cause, distill_next
from agents.models.distillation import Distillation, DistillationNight
from agents.models.runs import Run
from agents.services.index_compaction import compact_indexes
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.providers.base import Usage
from holamem.providers.registry import chat_model
from holamem.text.tokens import count_tokens
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.jobs import ClaimedJob, add_job, register_handler
from workspaces.services.usage import cost_of

logger = logging.getLogger(__name__)

LOOK_SECONDS = 60.0  # how soon after its hour a night begins
NEW_MESSAGES = 10  # a session needs more than so many
NIGHT_SESSIONS = 200
# Of all passes of one night of a workspace: a runaway must not cost a month's budget.
NIGHT_CALLS = 1_000
NIGHT_TOKENS = 2_000_000
NIGHT_COST = Decimal(5)  # US dollars, where a price is set
PASSES = 5  # of one job: what is left then is another night's
FULL_SHARE = 0.8
PRIORITY = 200  # behind what people wait for
WORKSPACES_AT_ONCE = 50


def register() -> None:
    """Called once when the app is ready."""
    register_handler(Job.Topic.SESSION_DISTILL, distill_session)


def distill_session(workspace: Workspace, job: ClaimedJob) -> None:
    """Passes until nothing is new, one fails, or the night has cost enough.

    A service that answered is asked for what an outage has left of other sessions. An index that
    has grown over its budget is shortened after them.
    """
    if _distill(workspace, job):
        request_backlog(workspace, night_id=job.payload.get("night_id"))
    if (chat := chat_model()) is not None:
        compact_indexes(workspace, scopes=[job.scope_id], chat=chat)


def request_backlog(workspace: Workspace, *, night_id: object = None) -> int:
    """A job for each session whose last pass an outage ended; returns how many.

    Those of a night stay within what the night may cost.
    """
    nightly = Distillation.Trigger.NIGHTLY, None if night_id is None else UUID(str(night_id))
    cause = Cause(*nightly) if night_id is not None else Cause(Distillation.Trigger.PASSIVE)
    waiting = [one for one in waiting_sessions(workspace) if one.is_outage][:NIGHT_SESSIONS]
    for one in waiting:
        with workspace_scope(workspace, [one.scope_id]):
            request_distillation(
                workspace, session_id=one.session_id, scope_id=one.scope_id, cause=cause
            )
    return len(waiting)


def _distill(workspace: Workspace, job: ClaimedJob) -> bool:
    """Whether a model has answered."""
    has_answered = False
    night = job.payload.get("night_id")
    night_id = None if night is None else UUID(str(night))
    cause = Cause(str(job.payload.get("trigger", Distillation.Trigger.MANUAL)), night_id)
    for _ in range(PASSES):
        if night_id is not None and _is_spent(workspace, night_id=night_id):
            logger.warning("distillation.night_limit", extra={"workspace": str(workspace.pk)})
            break
        done = distill_next(workspace, session_id=job.target_id, scope_id=job.scope_id, cause=cause)
        if done is None or done.status == Distillation.Status.FAILED:
            break
        has_answered = has_answered or done.input_tokens > 0
    return has_answered


def _is_spent(workspace: Workspace, *, night_id: UUID) -> bool:
    """Whether the night has reached one of its limits. A pass without a model counts as no call."""
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.distillations.filter(night_id=night_id, input_tokens__gt=0)
        taken = rows.aggregate(
            calls=Count("id"),
            sent=Coalesce(Sum("input_tokens"), 0),
            received=Coalesce(Sum("output_tokens"), 0),
        )
    usage = Usage(taken["sent"], taken["received"], estimated=False)
    return (
        taken["calls"] >= NIGHT_CALLS
        or usage.input_tokens + usage.output_tokens >= NIGHT_TOKENS
        or (cost_of(usage) or 0) >= NIGHT_COST
    )


def request_distillation(
    workspace: Workspace, *, session_id: UUID, scope_id: UUID, cause: Cause
) -> None:
    """Inside the caller's step of this scope; one that waits already is enough."""
    payload: dict[str, object] = {"trigger": cause.trigger}
    if cause.night_id is not None:
        payload["night_id"] = str(cause.night_id)
    add_job(
        workspace,
        topic=Job.Topic.SESSION_DISTILL,
        target_id=session_id,
        scope_id=scope_id,
        payload=payload,
        priority=PRIORITY,
    )


def distill_when_full(workspace: Workspace, *, run: Run) -> bool:
    """After a run: whether its session was full enough to be distilled now."""
    budget = int(run.config["context_tokens"]) * FULL_SHARE
    if chat_model() is None:
        return False
    scopes = tuple(sorted({run.workspace_id, run.scope_id}))
    with workspace_scope(workspace, scopes):
        session = workspace.sessions.filter(id=run.session_id).first()
        messages = [] if session is None else new_messages(workspace, session=session)
        if session is None or sum(count_tokens(m.content) for m in messages) < budget:
            return False
        request_distillation(
            workspace,
            session_id=session.id,
            scope_id=session.scope_id,
            cause=Cause(Distillation.Trigger.PASSIVE),
        )
    return True


@dataclass(frozen=True, slots=True)
class _Due:
    session_id: UUID
    scope_id: UUID


def start_nights(moment: datetime) -> int:
    """For each workspace whose day has begun without one; returns how many nights began."""
    if chat_model() is None:
        return 0
    return sum(_start_night(workspace, moment=moment) for workspace in _workspaces(moment))


def _workspaces(moment: datetime) -> list[Workspace]:
    """Those with conversations, the ones that waited longest first."""
    with system_scope():
        rows = (
            Workspace.objects.select_related("tenant")
            .filter(archived_at=None, tenant__suspended_at=None, sessions__isnull=False)
            .distinct()
        )
        nights = DistillationNight.objects.values("workspace_id").order_by()
        known = dict(nights.annotate(last=Max("day")).values_list("workspace_id", "last"))
        due = [w for w in rows if known.get(w.pk, date.min) < _day(w, moment=moment)]
    return sorted(due, key=lambda w: known.get(w.pk, date.min))[:WORKSPACES_AT_ONCE]


def _day(workspace: Workspace, *, moment: datetime) -> date:
    """The last day whose hour has come, by the workspace's own clock."""
    local = moment.astimezone(workspace.preferences.zone)
    has_come = local.hour >= workspace.preferences.distillation_hour
    return local.date() if has_come else local.date() - timedelta(days=1)


def _start_night(workspace: Workspace, *, moment: datetime) -> bool:
    """The night of this day: what was said until its hour."""
    day = _day(workspace, moment=moment)
    hour = time(workspace.preferences.distillation_hour, tzinfo=workspace.preferences.zone)
    begun = datetime.combine(day, hour)
    with workspace_scope(workspace, ALL_SCOPES):
        made = DistillationNight(workspace=workspace, day=day)
        workspace.distillation_nights.bulk_create([made], ignore_conflicts=True)
        night = workspace.distillation_nights.select_for_update().get(day=day)
        if night.id != made.id:
            return False
        due = _due_sessions(workspace, before=begun)
        for one in due[:NIGHT_SESSIONS]:
            request_distillation(
                workspace,
                session_id=one.session_id,
                scope_id=one.scope_id,
                cause=Cause(Distillation.Trigger.NIGHTLY, night.id),
            )
        night.sessions = min(len(due), NIGHT_SESSIONS)
        night.left_over = len(due) - night.sessions
        night.save(update_fields=["sessions", "left_over"])
    return True


# Archived sessions too, what a worker that died has left to be carried out, and what failed
# before. Raw SQL: the ORM joins before it groups, over all messages.
_DUE = """
SELECT s.id, s.scope_id FROM agents_session AS s CROSS JOIN LATERAL (
    SELECT count(*) AS fresh, min(m.created_at) AS oldest FROM agents_message AS m
     WHERE m.workspace_id = s.workspace_id AND m.session_id = s.id
       AND m.event_seq > s.distilled_seq AND m.created_at < %(before)s) AS new
 WHERE s.workspace_id = %(workspace)s AND s.last_event_seq > s.distilled_seq
   AND new.fresh > %(least)s
    OR s.workspace_id = %(workspace)s AND EXISTS (
       SELECT 1 FROM agents_distillation AS d WHERE d.workspace_id = s.workspace_id
          AND d.session_id = s.id AND (d.status = 'planned'
           OR d.status = 'failed' AND d.to_seq > s.distilled_seq))
 ORDER BY new.oldest, s.id
"""


def _due_sessions(workspace: Workspace, *, before: datetime) -> Sequence[_Due]:
    """Those with more than ten new messages, the longest waiting first."""
    values: dict[str, Any] = {"workspace": workspace.pk, "before": before, "least": NEW_MESSAGES}
    with connection.cursor() as cursor:
        cursor.execute(_DUE, values)
        return [_Due(*row) for row in cursor.fetchall()]
