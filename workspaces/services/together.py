"""Settle several chunks of one scope at once: what is rejected, what is known and what is new."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
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
from workspaces.services.holding import PlanChanged
from workspaces.services.jobs import ClaimedJob, LeaseLost, held_leases
from workspaces.services.leaves import commit_leaves
from workspaces.services.model_calls import judge_of
from workspaces.services.windows import Placed, Planned, Waiting, place_window, plan_window

logger = logging.getLogger(__name__)

# Another writer was faster, or the database or a provider is out.
_REFUSALS = (PlanChanged, TextErased, LeaseLost, HolamemError, IntegrityError, OperationalError)

Item = tuple[ClaimedJob, Event, Chunk]


@dataclass(frozen=True, slots=True)
class _Outlook:
    """The first chunks as they are judged alone, in their order; those in no list are settled."""

    order: list[UUID]
    rejected: list[Waiting]
    placed: list[Placed]

    def before(self, chunk_id: UUID) -> int:
        return self.order.index(chunk_id)


def settle_first(workspace: Workspace, *, items: Sequence[Item], ahead: Ahead) -> int:
    """How many of the first are settled now; 0: the first one has to be taken alone.

    Whatever stands in the way of all of them is left to those who take them one by one, so that
    no error is blamed on a neighbour.
    """
    settled = 0
    try:
        waiting = [Waiting(*item, ahead.of(item[1], item[2])) for item in items]
        seen = _look(workspace, waiting=waiting)
        _reject(workspace, rejected=seen.rejected)
        left = seen.placed
        while left and (planned := _plan(workspace, placed=left)):
            settled = seen.before(left[0].waiting.chunk.id)
            _settle(workspace, planned=planned)
            left = left[len(planned) :]
        settled = seen.before(left[0].waiting.chunk.id) if left else len(seen.order)
    except _REFUSALS as error:
        logger.info("window.refused", extra={"kind": type(error).__name__})
    except Exception as error:  # tried again one by one, where it is told with its job
        logger.warning("window.failed", exc_info=error)
    return settled


def _plan(workspace: Workspace, *, placed: Sequence[Placed]) -> list[Planned]:
    """As many as can be planned before any of them is committed; all reads of one moment."""
    scope_id = placed[0].waiting.event.scope_id
    judge = judge_of(workspace, scope_id=scope_id)
    with reading_scope(workspace, [scope_id]):
        return plan_window(workspace, placed=placed, judge=judge)


def _settle(workspace: Workspace, *, planned: Sequence[Planned]) -> None:
    new = [one for one in planned if one.plan.resolution.kind != "duplicate"]
    for _ in new:
        faults.point("chunk.planned")
    if new:
        plans, jobs = [one.plan for one in new], [one.waiting.job for one in new]
        commit_leaves(workspace, plans=plans, jobs=jobs)
    for one in planned:
        if one.plan.resolution.kind == "duplicate":
            told = one.waiting
            remember(workspace, job=told.job, plan=one.plan, judged=told.judged)


def _look(workspace: Workspace, *, waiting: Sequence[Waiting]) -> _Outlook:
    """All reads of one moment; up to a chunk whose text was erased, or whose owner is new."""
    ours = {one.chunk.id for one in waiting}
    rejected, admitted = list[Waiting](), list[Waiting]()
    order: list[UUID] = []
    scope_id = waiting[0].event.scope_id
    judge = judge_of(workspace, scope_id=scope_id)
    with reading_scope(workspace, [scope_id]):
        gone = erased_chunks(workspace, waiting=[(one.event, one.chunk) for one in waiting])
        open_chunks = workspace.chunks.filter(id__in=ours, outcome=Chunk.Outcome.PENDING)
        pending = set(open_chunks.values_list("id", flat=True))
        for one in takewhile(lambda one: one.chunk.id not in gone, waiting):
            order.append(one.chunk.id)
            admission = one.judged.admission
            is_admitted = note_admission(workspace, chunk=one.chunk, admission=admission)
            if one.chunk.id in pending:
                (admitted if is_admitted else rejected).append(one)
        placed = place_window(workspace, waiting=admitted, judge=judge) if admitted else []
    if len(placed) < len(admitted):
        order = order[: order.index(admitted[len(placed)].chunk.id)]
    settled = set(order)
    return _Outlook(order, [one for one in rejected if one.chunk.id in settled], placed)


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
