"""The write path in order: one event to chunks, each chunk to a leaf or to a reason why not."""

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.db import IntegrityError

from holamem import faults
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, MalformedReply
from workspaces.index.embedding import current_model, embed_passage, passage_text
from workspaces.judging.base import Admission, Assignment, ChunkContext, Judge
from workspaces.judging.registry import judge as configured_judge
from workspaces.models.log import Category, Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.admission import admit_chunk, chunk_context
from workspaces.services.chunks import ensure_chunks
from workspaces.services.duplicates import resolve
from workspaces.services.jobs import ClaimedJob, add_job, require_lease
from workspaces.services.leaves import LeafPlan, PlanChanged, commit_leaf, link_duplicate
from workspaces.services.owners import plan_owner
from workspaces.services.placement import Placement, place
from workspaces.services.revisions import object_key, retire_left_over
from workspaces.services.shortlist import entity_shortlist
from workspaces.settings import WorkspaceSettings

logger = logging.getLogger(__name__)

PLAN_TRIES = 6
PASS_SECONDS = 60  # far below the queue's limit for one task


def process_event(workspace: Workspace, job: ClaimedJob) -> None:
    """Handler of `event.received`. Taken up again after a crash, it goes on where it stopped."""
    event = _take_up(workspace, job=job)
    if event is None:
        return
    faults.point("event.taken_up")
    deadline = time.monotonic() + PASS_SECONDS
    pending = ensure_chunks(workspace, event=event)
    for number, chunk_id in enumerate(pending, 1):
        process_chunk(workspace, job=job, event=event, chunk_id=chunk_id)
        if number < len(pending) and time.monotonic() > deadline:
            _go_on_later(workspace, job=job)
            return
    if event.category == Category.INTEGRATION:
        retire_left_over(workspace, job=job, event=event)
    faults.point("event.before_processed")
    with workspace_scope(workspace, [event.scope_id]):
        require_lease(job)
        workspace.events.filter(id=event.id).update(status=Event.Status.PROCESSED, error="")


def _go_on_later(workspace: Workspace, *, job: ClaimedJob) -> None:
    """A long text gives other jobs a turn, and the queue kills no worker that makes progress."""
    with workspace_scope(workspace, [job.scope_id]):
        require_lease(job)
        add_job(
            workspace, topic=job.topic, target_id=job.target_id, scope_id=job.scope_id, priority=60
        )


def _take_up(workspace: Workspace, *, job: ClaimedJob) -> Event | None:
    with workspace_scope(workspace, [job.scope_id]):
        event = workspace.events.filter(id=job.target_id).first()
        if event is None or event.status == Event.Status.PROCESSED:
            return None
        workspace.events.filter(id=event.id).update(
            status=Event.Status.PROCESSING, attempts=job.attempts
        )
    return event


def process_chunk(workspace: Workspace, *, job: ClaimedJob, event: Event, chunk_id: UUID) -> None:
    """Steps 3 to 12 for one chunk. Model calls and file writes happen outside transactions."""
    judge = configured_judge()
    with workspace_scope(workspace, [event.scope_id]):
        chunk = workspace.chunks.get(id=chunk_id)
    context = chunk_context(workspace, event=event, chunk=chunk)
    admission = admit_chunk(context, event=event, judge=judge)
    chunk.admission_confidence = admission.confidence
    chunk.reason = admission.reason[:60]
    if admission.confidence < workspace.preferences.admission_threshold:
        _reject(workspace, job=job, chunk=chunk, admission=admission, judge=judge)
        return
    vector = embed_passage(passage_text(text=chunk.text, actor=event.actor))
    placement, by = place_chunk(
        workspace, event=event, chunk=chunk, context=context, vector=vector, judge=judge
    )
    faults.point("chunk.judged")
    for _ in range(PLAN_TRIES):
        plan = plan_chunk(
            workspace,
            event=event,
            chunk=chunk,
            context=context,
            placement=placement,
            vector=vector,
            judge=judge,
        )
        faults.point("chunk.planned")
        try:
            _commit(workspace, job=job, plan=replace(plan, judged_by=by))
        except (PlanChanged, IntegrityError):
            # Another worker made the same entity, tree or leaf first: look again.
            logger.info("leaf.plan_changed", extra={"chunk_id": str(chunk.id)})
            continue
        return
    raise Conflict("The tree kept changing while this chunk was being written.")


def _reject(
    workspace: Workspace, *, job: ClaimedJob, chunk: Chunk, admission: Admission, judge: Judge
) -> None:
    with workspace_scope(workspace, [chunk.scope_id]):
        require_lease(job)
        workspace.chunks.filter(id=chunk.id).update(
            outcome=Chunk.Outcome.REJECTED,
            reason=chunk.reason,
            admission_confidence=admission.confidence,
            judged_by=judge.name,
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
        assignment, text=chunk.text, candidates=candidates, settings=workspace.preferences
    )
    return placement, by[:100]


def fallback_assignment(text: str) -> Assignment:
    """What stands in for an answer that cannot be used: no match, nothing new, the text itself."""
    return Assignment("fallback", None, 0.0, None, 0.0, (), text, text, (), "")


def _lineage_placement(event: Event, *, chunk: Chunk) -> Placement:
    """Integration: the source names the object, so no judge is asked what it is about."""
    base = place(
        fallback_assignment(chunk.text),
        text=chunk.text,
        candidates=(),
        settings=WorkspaceSettings(),
    )
    key = object_key(event.external_id, position=chunk.position)
    return replace(base, decision="", subject_key=key)


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
    resolution = resolve(
        workspace,
        tree=None if owner.tree_is_new else owner.tree,
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
