"""The write path in order: one event to chunks, each chunk to a leaf or to a reason why not."""

import logging
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import IntegrityError

from holamem import faults
from holamem.database.scope import reading_scope, workspace_scope
from holamem.errors import Conflict, MalformedReply
from workspaces.index.embedding import current_model
from workspaces.judging.base import Admission, Assignment, ChunkContext, Judge
from workspaces.judging.leaf_words import title_of
from workspaces.judging.registry import judge as configured_judge
from workspaces.models.log import Category, Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.ahead import Ahead, Judged, is_offline
from workspaces.services.chunks import ensure_chunks
from workspaces.services.duplicates import resolve
from workspaces.services.erasure.texts import TextErased, keep_erased, outcome_now
from workspaces.services.jobs import (
    ClaimedJob,
    LeaseLost,
    TurnOver,
    add_job,
    held_leases,
    require_lease,
)
from workspaces.services.leaf_rows import LeafPlan
from workspaces.services.leaves import PlanChanged, commit_leaf, link_duplicate
from workspaces.services.lineage import resolve_part
from workspaces.services.owners import plan_owner
from workspaces.services.placement import Placement, place
from workspaces.services.settling import settle_revision
from workspaces.services.shortlist import entity_shortlist
from workspaces.settings import WorkspaceSettings

logger = logging.getLogger(__name__)

PLAN_TRIES = 6
ERASED = "erased"
PASS_SECONDS = 60  # far below the queue's limit for one task


@dataclass(frozen=True, slots=True)
class _Taken:
    """An event in work, under the lease of its job."""

    job: ClaimedJob
    event: Event


def process_event(workspace: Workspace, job: ClaimedJob) -> None:
    """Handler of `event.received`. Taken up again after a crash, it goes on where it stopped."""
    for error in process_events(workspace, [job]).values():
        raise error


def process_events(workspace: Workspace, jobs: Sequence[ClaimedJob]) -> dict[UUID, Exception]:
    """The same for several of one scope, one after the other; errors by job.

    Only what needs no memory is done for all at once, so that each chunk finds what the chunks
    before it have left, as if the events came one by one.
    """
    deadline = time.monotonic() + PASS_SECONDS
    taken = _take_up(workspace, jobs=jobs)
    pending = ensure_chunks(workspace, events=[work.event for work in taken])
    waiting = [(work.event, chunk) for work in taken for chunk in pending[work.event.id]]
    ahead = Ahead(workspace, judge=configured_judge(), waiting=waiting)
    errors: dict[UUID, Exception] = {}
    done: list[_Taken] = []
    for work in taken:
        try:
            if done and time.monotonic() > deadline:
                raise TurnOver
            chunks = pending[work.event.id]
            if _process(workspace, work=work, chunks=chunks, ahead=ahead, deadline=deadline):
                done.append(work)
        except Exception as error:  # noqa: BLE001 - it is this job's, and stops no other
            errors[work.job.id] = error
    return errors | _mark_processed(workspace, works=done)


def _take_up(workspace: Workspace, *, jobs: Sequence[ClaimedJob]) -> list[_Taken]:
    """The events that are not processed yet, in the order of their jobs, which have one scope."""
    wanted = [job.target_id for job in jobs]
    with workspace_scope(workspace, [jobs[0].scope_id]):
        rows = workspace.events.filter(id__in=wanted).exclude(status=Event.Status.PROCESSED)
        events = {event.id: event for event in rows}
        workspace.events.filter(id__in=list(events)).update(
            status=Event.Status.PROCESSING, attempts=max(job.attempts for job in jobs)
        )
    return [_Taken(job, events[job.target_id]) for job in jobs if job.target_id in events]


def _process(
    workspace: Workspace,
    *,
    work: _Taken,
    chunks: Sequence[Chunk],
    ahead: Ahead,
    deadline: float,
) -> bool:
    """One event up to the point where it only has to be marked; False when it goes on later."""
    faults.point("event.taken_up")
    for number, chunk in enumerate(chunks, 1):
        process_chunk(workspace, job=work.job, event=work.event, chunk=chunk, ahead=ahead)
        if number < len(chunks) and time.monotonic() > deadline:
            _go_on_later(workspace, job=work.job)
            return False
    if work.event.category == Category.INTEGRATION:
        settle_revision(workspace, job=work.job, event=work.event)
    faults.point("event.before_processed")
    return True


def _go_on_later(workspace: Workspace, *, job: ClaimedJob) -> None:
    """A long text gives other jobs a turn, and the queue kills no worker that makes progress."""
    with workspace_scope(workspace, [job.scope_id]):
        require_lease(job)
        add_job(
            workspace, topic=job.topic, target_id=job.target_id, scope_id=job.scope_id, priority=60
        )


def _mark_processed(workspace: Workspace, *, works: Sequence[_Taken]) -> dict[UUID, Exception]:
    """In one step; LeaseLost for the jobs that another worker holds now."""
    if not works:
        return {}
    with workspace_scope(workspace, [works[0].event.scope_id]):
        held = held_leases([work.job for work in works])
        ids = [work.event.id for work in works if work.job.id in held]
        workspace.events.filter(id__in=ids).update(status=Event.Status.PROCESSED, error="")
    return {work.job.id: LeaseLost() for work in works if work.job.id not in held}


def process_chunk(
    workspace: Workspace, *, job: ClaimedJob, event: Event, chunk: Chunk, ahead: Ahead
) -> None:
    """Steps 3 to 12 for one chunk. Model calls and file writes happen outside transactions."""
    judge = configured_judge()
    judged = ahead.of(event, chunk)
    admission = judged.admission
    chunk.admission_confidence = admission.confidence
    chunk.reason = admission.reason[:60]
    is_admitted = admission.confidence >= workspace.preferences.admission_threshold
    plan = None
    with _steps_of(workspace, event=event, judge=judge):
        state = _state_now(workspace, event=event, chunk=chunk)
        if is_admitted and state == Chunk.Outcome.PENDING:
            plan = _judge(workspace, event=event, chunk=chunk, judged=judged, judge=judge)
    if state == ERASED:
        _keep_erased(workspace, job=job, event=event, chunk=chunk, leaf_id=None)
    elif plan is not None:
        _remember(workspace, job=job, plan=plan, judged=judged)
    elif state == Chunk.Outcome.PENDING:
        _reject(workspace, job=job, chunk=chunk, admission=admission, judge=judge)


def _state_now(workspace: Workspace, *, event: Event, chunk: Chunk) -> str:
    """The outcome, or ERASED where the text was taken before it was judged."""
    with workspace_scope(workspace, [event.scope_id]):
        outcome, is_erased = outcome_now(workspace, event=event, chunk=chunk)
    return ERASED if is_erased else outcome


def _judge(
    workspace: Workspace, *, event: Event, chunk: Chunk, judged: Judged, judge: Judge
) -> LeafPlan:
    """Steps 4 to 8: where the chunk belongs, and what it is to what is known there."""
    placement, by = place_chunk(
        workspace,
        event=event,
        chunk=chunk,
        context=judged.context,
        vector=judged.vector,
        judge=judge,
    )
    by = "; ".join(filter(None, (judged.admission.judged_by, by)))
    faults.point("chunk.judged")
    plan = plan_chunk(
        workspace,
        event=event,
        chunk=chunk,
        context=judged.context,
        placement=placement,
        vector=judged.vector,
        judge=judge,
    )
    return replace(plan, judged_by=by[:100])


def _remember(workspace: Workspace, *, job: ClaimedJob, plan: LeafPlan, judged: Judged) -> None:
    """Commit, and plan again where another worker changed what the plan rests on."""
    event, chunk, judge = plan.event, plan.chunk, configured_judge()
    for _ in range(PLAN_TRIES):
        faults.point("chunk.planned")
        try:
            _commit(workspace, job=job, plan=plan)
        except (PlanChanged, IntegrityError):
            # Another worker made the same entity, tree or leaf first: look again.
            logger.info("leaf.plan_changed", extra={"chunk_id": str(chunk.id)})
        except TextErased as taken:
            _keep_erased(workspace, job=job, event=event, chunk=chunk, leaf_id=taken.leaf_id)
            return
        else:
            return
        with _steps_of(workspace, event=event, judge=judge):
            again = plan_chunk(
                workspace,
                event=event,
                chunk=chunk,
                context=judged.context,
                placement=plan.placement,
                vector=judged.vector,
                judge=judge,
            )
        plan = replace(again, judged_by=plan.judged_by)
    raise Conflict("The tree kept changing while this chunk was being written.")


def _steps_of(workspace: Workspace, *, event: Event, judge: Judge) -> AbstractContextManager[None]:
    """One step for all reads of a judgement that takes no call; each its own around a call."""
    if is_offline(judge):
        return reading_scope(workspace, [event.scope_id])
    return nullcontext()


def _keep_erased(
    workspace: Workspace, *, job: ClaimedJob, event: Event, chunk: Chunk, leaf_id: UUID | None
) -> None:
    with workspace_scope(workspace, [event.scope_id]):
        require_lease(job)
        keep_erased(workspace, event=event, chunk=chunk, leaf_id=leaf_id)


def _reject(
    workspace: Workspace, *, job: ClaimedJob, chunk: Chunk, admission: Admission, judge: Judge
) -> None:
    with workspace_scope(workspace, [chunk.scope_id]):
        require_lease(job)
        workspace.chunks.filter(id=chunk.id, outcome=Chunk.Outcome.PENDING).update(
            outcome=Chunk.Outcome.REJECTED,
            reason=chunk.reason,
            admission_confidence=admission.confidence,
            judged_by=(admission.judged_by or judge.name)[:100],
        )


def place_chunk(
    workspace: Workspace,
    *,
    event: Event,
    chunk: Chunk,
    context: ChunkContext,
    vector: Sequence[float] | None,
    judge: Judge,
) -> tuple[Placement, str]:
    """Where the chunk belongs, and who judged it. An unusable answer ends in the fallback."""
    if event.category == Category.INTEGRATION:
        return _lineage_placement(event, chunk=chunk), "source lineage"
    candidates = entity_shortlist(workspace, event=event, text=chunk.text, vector=vector)
    try:
        assignment, by = judge.assign(context, candidates=candidates), judge.name
    except MalformedReply:
        assignment, by = fallback_assignment(chunk.text), f"{judge.name}: no usable answer"
    placement = place(
        assignment,
        text=chunk.text,
        candidates=candidates,
        settings=workspace.preferences,
        actor=event.actor,
    )
    return placement, by[:100]


def fallback_assignment(text: str) -> Assignment:
    """What stands in for an answer that cannot be used: no match, nothing new, the text itself."""
    return Assignment("fallback", None, 0.0, None, 0.0, (), text, text, (), "")


def _lineage_placement(event: Event, *, chunk: Chunk) -> Placement:
    """Integration: the source names the object, so no judge is asked what it is about."""
    base = place(
        replace(fallback_assignment(chunk.text), title=title_of(chunk.text)),
        text=chunk.text,
        candidates=(),
        settings=WorkspaceSettings(),
    )
    return replace(base, decision="")


def plan_chunk(
    workspace: Workspace,
    *,
    event: Event,
    chunk: Chunk,
    context: ChunkContext,
    placement: Placement,
    vector: Sequence[float] | None,
    judge: Judge,
) -> LeafPlan:
    integration = event.category == Category.INTEGRATION
    owner = plan_owner(workspace, event=event, placement=None if integration else placement)
    tree = None if owner.tree_is_new else owner.tree
    if integration:
        part = resolve_part(workspace, event=event, chunk=chunk, tree=tree)
        resolution = part.resolution
        placement = replace(placement, subject_key=part.subject_key)
    else:
        resolution = resolve(
            workspace,
            tree=tree,
            chunk=context,
            fingerprint=chunk.fingerprint,
            subject_key=placement.subject_key,
            vector=vector,
            judge=judge,
        )
    return LeafPlan(
        event=event,
        chunk=chunk,
        owner=owner,
        placement=placement,
        resolution=resolution,
        language=context.language,
        vector=vector,
        model=current_model() if vector is not None else None,
        judged_by="",
    )


def _commit(workspace: Workspace, *, job: ClaimedJob, plan: LeafPlan) -> None:
    if plan.resolution.kind == "duplicate":
        link_duplicate(workspace, job=job, plan=plan)
    else:
        commit_leaf(workspace, job=job, plan=plan)
