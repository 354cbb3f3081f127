"""Settle several chunks of one scope at once: what is rejected, what is known and what is new."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, OperationalError

from holamem import faults
from holamem.database.scope import reading_scope, workspace_scope
from holamem.database.statements import Statement, run_together
from holamem.errors import HolamemError
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.ahead import Ahead
from workspaces.services.chunk_steps import note_admission, remember
from workspaces.services.erasure.texts import TextErased, erased_chunks
from workspaces.services.jobs import ClaimedJob, LeaseLost, held_leases
from workspaces.services.leaves import PlanChanged
from workspaces.services.model_calls import judge_of
from workspaces.services.window_commit import commit_window
from workspaces.services.windows import Planned, Waiting, plan_window

logger = logging.getLogger(__name__)

# Another writer was faster, or the database or a provider is out.
_REFUSALS = (PlanChanged, TextErased, LeaseLost, HolamemError, IntegrityError, OperationalError)

Item = tuple[ClaimedJob, Event, Chunk]


@dataclass(frozen=True, slots=True)
class _Outlook:
    """What the first `count` chunks come to; those in neither list were settled before."""

    count: int
    rejected: list[Waiting]
    planned: list[Planned]


def settle_first(workspace: Workspace, *, items: Sequence[Item], ahead: Ahead) -> int:
    """How many of the first are settled now; 0: the first one has to be taken alone.

    Whatever stands in the way of all of them is left to those who take them one by one, so that
    no error is blamed on a neighbour.
    """
    try:
        waiting = [Waiting(*item, ahead.of(item[1], item[2])) for item in items]
        seen = _look(workspace, waiting=waiting)
        _reject(workspace, rejected=seen.rejected)
        new = [one for one in seen.planned if one.plan.resolution.kind != "duplicate"]
        _reached(new)
        if new:
            commit_window(workspace, planned=new)
        for one in seen.planned:
            if one.plan.resolution.kind == "duplicate":
                told = one.waiting
                remember(workspace, job=told.job, plan=one.plan, judged=told.judged)
    except _REFUSALS as error:
        logger.info("window.refused", extra={"kind": type(error).__name__})
        return 0
    except Exception as error:  # tried again one by one, where it is told with its job
        logger.warning("window.failed", exc_info=error)
        return 0
    return seen.count


def _reached(planned: Sequence[Planned]) -> None:
    for _ in planned:
        faults.point("chunk.planned")


def _look(workspace: Workspace, *, waiting: Sequence[Waiting]) -> _Outlook:
    """All reads of one moment. It ends before a chunk whose text was erased."""
    ours = {one.chunk.id for one in waiting}
    rejected, admitted = list[Waiting](), list[Waiting]()
    order: list[UUID] = []
    scope_id = waiting[0].event.scope_id
    judge = judge_of(workspace, scope_id=scope_id)
    with reading_scope(workspace, [scope_id]):
        gone = erased_chunks(workspace, waiting=[(one.event, one.chunk) for one in waiting])
        open_chunks = workspace.chunks.filter(id__in=ours, outcome=Chunk.Outcome.PENDING)
        pending = set(open_chunks.values_list("id", flat=True))
        for one in waiting:
            if one.chunk.id in gone:
                break
            order.append(one.chunk.id)
            admission = one.judged.admission
            is_admitted = note_admission(workspace, chunk=one.chunk, admission=admission)
            if one.chunk.id in pending:
                (admitted if is_admitted else rejected).append(one)
        planned = plan_window(workspace, waiting=admitted, judge=judge) if admitted else []
    if len(planned) < len(admitted):
        order = order[: order.index(admitted[len(planned)].chunk.id)]
    settled = set(order)
    rejected = [one for one in rejected if one.chunk.id in settled]
    return _Outlook(len(order), rejected, planned)


def _reject(workspace: Workspace, *, rejected: Sequence[Waiting]) -> None:
    """In one step. Raises LeaseLost when another worker took one of the jobs over."""
    if not rejected:
        return
    judge = judge_of(workspace, scope_id=rejected[0].event.scope_id).name
    jobs = {one.job.id: one.job for one in rejected}
    told = Statement(
        "UPDATE workspaces_chunk AS chunk SET outcome = 'rejected', reason = told.reason,"
        " admission_confidence = told.admission, judged_by = told.judge"
        " FROM unnest(%s::uuid[], %s::text[], %s::float[], %s::text[])"
        " AS told (id, reason, admission, judge)"
        " WHERE chunk.workspace_id = %s AND chunk.id = told.id AND chunk.outcome = 'pending'",
        [
            [one.chunk.id for one in rejected],
            [one.chunk.reason for one in rejected],
            [one.judged.admission.confidence for one in rejected],
            [(one.judged.admission.judged_by or judge)[:100] for one in rejected],
            workspace.pk,
        ],
    )
    with workspace_scope(workspace, [rejected[0].event.scope_id]):
        if len(held_leases(list(jobs.values()))) < len(jobs):
            raise LeaseLost
        run_together([told])
