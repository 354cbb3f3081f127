"""When sessions are distilled: every night of the workspace's own calendar, and when one is full.

A night is a row, so that each comes once, also after an outage; its sessions are jobs, so that
workers share them and no workspace holds up another.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Max

from agents.distill.evidence import new_messages
from agents.distill.passes import Cause, distill_next
from agents.distill.shortening import shorten_index
from agents.models.distillation import Distillation, DistillationNight
from agents.models.runs import Run
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.providers.registry import chat_model
from holamem.text.tokens import count_tokens
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.jobs import ClaimedJob, add_job, register_handler

logger = logging.getLogger(__name__)

LOOK_SECONDS = 60.0  # how soon after midnight a night begins
NEW_MESSAGES = 10  # a session needs more than so many
NIGHT_SESSIONS = 200
NIGHT_TOKENS = 2_000_000  # of all passes of one night; a runaway must not cost a month's budget
PASSES = 5  # of one job: what is left then is another night's
FULL_SHARE = 0.8
PRIORITY = 200  # behind what people wait for
WORKSPACES_AT_ONCE = 50


def register() -> None:
    """Called once when the app is ready."""
    register_handler(Job.Topic.SESSION_DISTILL, distill_session)


def distill_session(workspace: Workspace, job: ClaimedJob) -> None:
    """Passes until nothing is new, one fails, or the night has cost enough.

    An index that has grown over its budget is shortened after them.
    """
    _distill(workspace, job)
    shorten_index(workspace, scope_id=job.scope_id)


def _distill(workspace: Workspace, job: ClaimedJob) -> None:
    night = job.payload.get("night_id")
    night_id = None if night is None else UUID(str(night))
    cause = Cause(str(job.payload.get("trigger", Distillation.Trigger.MANUAL)), night_id)
    for _ in range(PASSES):
        if night_id is not None and _spent(workspace, night_id=night_id) >= NIGHT_TOKENS:
            logger.warning("distillation.night_limit", extra={"workspace": str(workspace.pk)})
            return
        done = distill_next(workspace, session_id=job.target_id, scope_id=job.scope_id, cause=cause)
        if done is None or done.status == Distillation.Status.FAILED:
            return


def _spent(workspace: Workspace, *, night_id: UUID) -> int:
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.distillations.filter(night_id=night_id)
        return sum(a + b for a, b in rows.values_list("input_tokens", "output_tokens"))


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
    return moment.astimezone(workspace.preferences.zone).date()


def _start_night(workspace: Workspace, *, moment: datetime) -> bool:
    """The night before this day: what was said until its midnight."""
    day = _day(workspace, moment=moment)
    midnight = datetime.combine(day, time.min, tzinfo=workspace.preferences.zone)
    with workspace_scope(workspace, ALL_SCOPES):
        made = DistillationNight(workspace=workspace, day=day)
        workspace.distillation_nights.bulk_create([made], ignore_conflicts=True)
        night = workspace.distillation_nights.select_for_update().get(day=day)
        if night.id != made.id:
            return False
        due = _due_sessions(workspace, before=midnight)
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


# Archived sessions too, and what a worker that died has left to be carried out. Raw SQL: the ORM
# joins before it groups, over all messages.
_DUE = """
SELECT s.id, s.scope_id FROM agents_session AS s CROSS JOIN LATERAL (
    SELECT count(*) AS fresh, min(m.created_at) AS oldest FROM agents_message AS m
     WHERE m.workspace_id = s.workspace_id AND m.session_id = s.id
       AND m.event_seq > s.distilled_seq AND m.created_at < %(before)s) AS new
 WHERE s.workspace_id = %(workspace)s AND s.last_event_seq > s.distilled_seq
   AND new.fresh > %(least)s
    OR s.workspace_id = %(workspace)s AND EXISTS (
       SELECT 1 FROM agents_distillation AS d WHERE d.workspace_id = s.workspace_id
          AND d.session_id = s.id AND d.status = 'planned')
 ORDER BY new.oldest, s.id
"""


def _due_sessions(workspace: Workspace, *, before: datetime) -> Sequence[_Due]:
    """Those with more than ten new messages, the longest waiting first."""
    values: dict[str, Any] = {"workspace": workspace.pk, "before": before, "least": NEW_MESSAGES}
    with connection.cursor() as cursor:
        cursor.execute(_DUE, values)
        return [_Due(*row) for row in cursor.fetchall()]
