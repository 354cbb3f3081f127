"""The decisions of the write path for one event, with nothing written."""

from workspaces.index.embedding import embed_passage, passage_text
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.admission import admit_chunk, chunk_context
from workspaces.services.chunk_steps import place_chunk, plan_chunk
from workspaces.services.chunks import build_chunks
from workspaces.services.end_users import end_user_scope
from workspaces.services.intake import EventDraft, build_event, prepare_draft
from workspaces.services.model_calls import judge_of
from workspaces.services.principals import Principal
from workspaces.services.results import ChunkResult

OUTCOMES = {
    "duplicate": Chunk.Outcome.NOOP_DUPLICATE,
    "supersede": Chunk.Outcome.SUPERSEDING,
    "history": Chunk.Outcome.CREATED,
    "new": Chunk.Outcome.CREATED,
}


def dry_run(workspace: Workspace, *, draft: EventDraft, principal: Principal) -> list[ChunkResult]:
    """What would happen now; chunks of one event do not see each other's leaves."""
    checked = prepare_draft(workspace, draft=draft, principal=principal, index=0)
    scope_id = end_user_scope(workspace, ref=checked.user_id)
    event = build_event(workspace, draft=checked, scope_id=scope_id)
    return [_decide(workspace, event=event, chunk=chunk) for chunk in build_chunks(event)]


def _decide(workspace: Workspace, *, event: Event, chunk: Chunk) -> ChunkResult:
    judge = judge_of(workspace, scope_id=event.scope_id)
    context = chunk_context(workspace, event=event, chunk=chunk)
    admission = admit_chunk(context, event=event, judge=judge)
    if admission.confidence < workspace.preferences.admission_threshold:
        return ChunkResult(
            chunk.position,
            Chunk.Outcome.REJECTED,
            admission.confidence,
            admission.reason,
            None,
            None,
            None,
            None,
            None,
        )
    vector = embed_passage(passage_text(text=chunk.text, actor=event.actor))
    placement, _ = place_chunk(
        workspace, event=event, chunk=chunk, context=context, vector=vector, judge=judge
    )
    plan = plan_chunk(
        workspace,
        event=event,
        chunk=chunk,
        context=context,
        placement=placement,
        vector=vector,
        judge=judge,
    )
    owner = plan.owner
    return ChunkResult(
        position=chunk.position,
        outcome=OUTCOMES[plan.resolution.kind],
        admission_confidence=admission.confidence,
        reason=admission.reason,
        leaf_id=plan.resolution.leaf_id if plan.resolution.kind == "duplicate" else None,
        tree_id=None if owner.tree_is_new else owner.tree.id,
        tree_key=owner.tree.key,
        entity=owner.entity.name if owner.entity else None,
        decision=placement.decision or None,
    )
