"""Steps 3 to 12 of the write path for one chunk: to a leaf, or to a reason why not."""

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from uuid import UUID

from django.db import IntegrityError

from holamem import faults
from holamem.database.scope import reading_scope, workspace_scope
from holamem.errors import Conflict, MalformedReply
from workspaces.index.embedding import current_model
from workspaces.judging.base import (
    Admission,
    Assignment,
    ChunkContext,
    EntityCandidate,
    Judge,
)
from workspaces.judging.leaf_words import title_of
from workspaces.models.log import Category, Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.ahead import Ahead, Judged, is_offline
from workspaces.services.called import Said, called_in
from workspaces.services.duplicates import resolve
from workspaces.services.erasure.texts import TextErased, keep_erased, outcome_now
from workspaces.services.holding import PlanChanged
from workspaces.services.jobs import ClaimedJob, require_lease
from workspaces.services.leaf_rows import LeafPlan
from workspaces.services.leaves import commit_leaves, link_duplicate
from workspaces.services.lineage import resolve_part
from workspaces.services.model_calls import judge_of
from workspaces.services.owners import plan_owner
from workspaces.services.placement import Placement, place
from workspaces.services.shortlist import entity_shortlist
from workspaces.settings import WorkspaceSettings

logger = logging.getLogger(__name__)

PLAN_TRIES = 6
ERASED = "erased"


def process_chunk(
    workspace: Workspace, *, job: ClaimedJob, event: Event, chunk: Chunk, ahead: Ahead
) -> None:
    """Steps 3 to 12 for one chunk. Model calls and file writes happen outside transactions."""
    judge = judge_of(workspace, scope_id=event.scope_id)
    judged = ahead.of(event, chunk)
    admission = judged.admission
    is_admitted = note_admission(workspace, chunk=chunk, admission=admission)
    plan = None
    with _steps_of(workspace, event=event, judge=judge):
        state = _state_now(workspace, event=event, chunk=chunk)
        if is_admitted and state == Chunk.Outcome.PENDING:
            plan = _judge(workspace, event=event, chunk=chunk, judged=judged, judge=judge)
    if state == ERASED:
        _keep_erased(workspace, job=job, event=event, chunk=chunk, leaf_id=None)
    elif plan is not None:
        remember(workspace, job=job, plan=plan, judged=judged)
    elif state == Chunk.Outcome.PENDING:
        _reject(workspace, job=job, chunk=chunk, admission=admission, judge=judge)


def note_admission(workspace: Workspace, *, chunk: Chunk, admission: Admission) -> bool:
    """Put the judgement on the unsaved row; whether it is enough."""
    chunk.admission_confidence = admission.confidence
    chunk.reason = admission.reason[:60]
    return admission.confidence >= workspace.preferences.admission_threshold


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
    return replace(plan, judged_by=by[:100], is_embedded=judged.is_embedded)


def remember(workspace: Workspace, *, job: ClaimedJob, plan: LeafPlan, judged: Judged) -> None:
    """Commit, and plan again where another worker changed what the plan rests on."""
    event, chunk = plan.event, plan.chunk
    judge = judge_of(workspace, scope_id=event.scope_id)
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
        plan = replace(again, judged_by=plan.judged_by, is_embedded=plan.is_embedded)
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
    candidates = shortlist_of(workspace, event=event, text=chunk.text, vector=vector, judge=judge)
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


def shortlist_of(
    workspace: Workspace,
    *,
    event: Event,
    text: str,
    vector: Sequence[float] | None,
    judge: Judge,
) -> list[EntityCandidate]:
    """Step 4, as the judge can use it: a model finds kin in what resembles, rules read names."""
    if not is_offline(judge):
        return entity_shortlist(workspace, event=event, text=text, vector=vector)
    said = [Said(text, event.actor)]
    shortlists, _ = called_in(workspace, scope_id=event.scope_id, said=said)
    return shortlists[0]


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
        commit_leaves(workspace, plans=[plan], jobs=[job])
