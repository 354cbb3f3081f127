"""Writing the planned rows of one tree, in one transaction: all of it or nothing."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from django.db import models

from holamem.database.scope import workspace_scope
from workspaces.models.jobs import Job
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LeafEntity, LeafSource, SourceLeaf, SummaryNode, Tree
from workspaces.services.indexing import EMBEDDED_LEAVES
from workspaces.services.jobs import add_job
from workspaces.services.rebuild.heads import ChunkHead, EventHead, LeafHead, Policies
from workspaces.services.rebuild.leaf_states import PlannedLeaf
from workspaces.services.rebuild.plan import TreePlan
from workspaces.services.rebuild.summary_choice import PlannedSummary
from workspaces.services.topology import request_seal


def insert(row: models.Model) -> None:
    """As it is, with the moments that it already has: `auto_now_add` would set new ones."""
    row.save_base(raw=True, force_insert=True)


def write_tree(
    workspace: Workspace, *, plan: TreePlan, entities: Mapping[UUID, UUID], moment: datetime
) -> None:
    """Inside the caller's step. References between nodes are checked when it commits.

    `entities`: every id that is there, with the one that it is part of now.
    """
    insert(_tree_row(workspace, plan=plan, moment=moment))
    for node in plan.summaries.values():
        insert(_summary_row(workspace, node=node, plan=plan))
    for leaf in plan.leaves.values():
        insert(_leaf_row(workspace, leaf=leaf, plan=plan, moment=moment))
    _write_sources(workspace, plan=plan)
    _write_mentions(workspace, plan=plan, entities=entities)
    _queue(workspace, plan=plan)


def _tree_row(workspace: Workspace, *, plan: TreePlan, moment: datetime) -> Tree:
    head, entity = plan.sidecar.tree, plan.sidecar.entity
    active = sum(leaf.status == SourceLeaf.Status.ACTIVE for leaf in plan.leaves.values())
    return Tree(
        id=head.id,
        workspace=workspace,
        scope_id=head.scope,
        category=head.category,
        key=head.key,
        title=head.title,
        entity_id=entity.id if entity else None,
        provider=head.provider,
        account=head.account,
        root_id=plan.root,
        height=plan.height,
        leaf_count=active,
        status=Tree.Status.ACTIVE if active else Tree.Status.EMPTY,
        created_at=head.created_at,
        updated_at=moment,
    )


def _summary_row(workspace: Workspace, *, node: PlannedSummary, plan: TreePlan) -> SummaryNode:
    head, tree = node.file.head, plan.sidecar.tree
    return SummaryNode(
        id=head.id,
        workspace=workspace,
        scope_id=tree.scope,
        category=tree.category,
        tree_id=tree.id,
        parent_id=node.parent,
        # What it replaced is retired, and retired nodes do not come back.
        replaces_id=None,
        height=head.height,
        level=plan.level_of(node),
        is_root=head.id == plan.root,
        provisional=head.provisional,
        status=node.status,
        title=head.title,
        summary=head.summary,
        body_path=plan.path_of(node),
        body_sha256=node.file.sha256,
        body_bytes=node.file.size,
        child_kind=head.child_kind,
        child_ids=list(head.children),
        child_set_sha256=head.child_set_sha256,
        leaf_count=head.leaf_count,
        observed_at=head.observed_at,
        time_range_start=head.time_range[0],
        time_range_end=head.time_range[1],
        labels=list(head.labels),
        language=head.language,
        trust=head.trust,
        model=head.model,
        created_at=head.created_at,
        sealed_at=head.sealed_at,
    )


def _leaf_row(
    workspace: Workspace, *, leaf: PlannedLeaf, plan: TreePlan, moment: datetime
) -> SourceLeaf:
    tree, entity = plan.sidecar.tree, plan.sidecar.entity
    row = SourceLeaf(
        id=leaf.id,
        workspace=workspace,
        scope_id=tree.scope,
        category=tree.category,
        tree_id=tree.id,
        parent_id=plan.parents.get(leaf.id),
        entity_id=entity.id if entity else None,
        observed_at=leaf.observed_at,
        updated_at=moment,
        valid_until=leaf.valid_until,
        status=leaf.status,
        forgotten_at=leaf.forgotten_at,
        supersedes_leaf_id=leaf.supersedes,
        superseded_by_id=leaf.superseded_by,
        body_path=f"{plan.directory}/leaves/{leaf.id}.md",
    )
    if leaf.file is not None:
        _fill_from_head(row, head=leaf.file.head)
        row.body_sha256, row.body_bytes = leaf.file.sha256, leaf.file.size
    elif leaf.tombstone is not None:
        _fill_from_tombstone(row, leaf=leaf)
    return row


def _fill_from_head(row: SourceLeaf, *, head: LeafHead) -> None:
    row.chunk_id = head.chunk.id if head.chunk and head.event else None
    row.origin_kind = head.origin
    row.session_ref, row.actor = head.session, head.actor
    row.title, row.summary = head.title, head.summary
    row.fingerprint, row.subject_key = head.fingerprint, head.subject_key
    row.created_at = head.created_at
    row.confidence = head.confidence
    _fill_policies(row, policies=head.policies)
    row.labels, row.language, row.trust = list(head.labels), head.language, head.trust


def _fill_policies(row: SourceLeaf, *, policies: Policies) -> None:
    row.verification_policy = policies.verification
    row.staleness_policy = policies.staleness
    row.stale_after_days = policies.stale_after_days


def _fill_from_tombstone(row: SourceLeaf, *, leaf: PlannedLeaf) -> None:
    tomb = leaf.tombstone
    if tomb is None:
        return
    row.origin_kind, row.session_ref = tomb.origin, tomb.session
    _fill_policies(row, policies=tomb.policies)
    row.fingerprint, row.body_sha256 = tomb.fingerprint, tomb.body_sha256
    row.body_bytes = tomb.body_bytes
    row.created_at = tomb.created_at
    row.confidence, row.trust, row.language = tomb.confidence, tomb.trust, tomb.language


def _write_sources(workspace: Workspace, *, plan: TreePlan) -> None:
    """Events and chunks without their text, so that the same item sent again is known."""
    scope_id = plan.sidecar.tree.scope
    for leaf in plan.leaves.values():
        head = leaf.file.head if leaf.file else None
        if head is None or head.event is None or head.chunk is None:
            continue
        event = _event_row(workspace, leaf=head, event=head.event)
        _insert_once(workspace.events, row=event)
        _insert_once(
            workspace.chunks,
            row=_chunk_row(workspace, leaf=head, chunk=head.chunk, event_id=event.id),
        )
        insert(
            LeafSource(
                workspace=workspace,
                scope_id=scope_id,
                leaf_id=head.id,
                event_id=head.event.id,
                is_creator=True,
            )
        )


def _insert_once(rows: models.Manager, *, row: models.Model) -> None:  # type: ignore[type-arg]
    """Several leaves come from one event, and a moved leaf shares its chunk."""
    if not rows.filter(pk=row.pk).exists():
        insert(row)


def _event_row(workspace: Workspace, *, leaf: LeafHead, event: EventHead) -> Event:
    return Event(
        id=event.id,
        workspace=workspace,
        scope_id=leaf.scope,
        kind=event.kind,
        category=event.category,
        source=event.source,
        external_id=event.external_id,
        provider=event.provider,
        account=event.account,
        session_ref=leaf.session,
        agent_ref=event.agent,
        run_ref=event.run,
        actor=leaf.actor,
        payload_text="",
        text_sha256=event.text_sha256,
        metadata=event.metadata,
        succeeded=event.succeeded,
        evidence_event_ids=list(event.proofs),
        admission_mode=event.admission,
        occurred_at=event.occurred_at,
        offset_minutes=event.offset_minutes,
        received_at=event.received_at,
        status=Event.Status.PROCESSED,
    )


def _chunk_row(workspace: Workspace, *, leaf: LeafHead, chunk: ChunkHead, event_id: UUID) -> Chunk:
    superseding = leaf.supersedes is not None
    return Chunk(
        id=chunk.id,
        workspace=workspace,
        scope_id=leaf.scope,
        event_id=event_id,
        position=chunk.position,
        start=chunk.start,
        end=chunk.end,
        text="",
        fingerprint=leaf.fingerprint,
        outcome=Chunk.Outcome.SUPERSEDING if superseding else Chunk.Outcome.CREATED,
        decision=chunk.decision,
        reason=chunk.reason,
        admission_confidence=leaf.confidence,
        match_confidence=chunk.match_confidence,
        create_confidence=chunk.create_confidence,
        judged_by=chunk.judged_by,
        leaf_id=leaf.id,
    )


def write_proofs(workspace: Workspace, *, heads: Iterable[LeafHead]) -> None:
    """Successful tool results that leaves rest on and that became no leaf themselves."""
    for head in heads:
        if head.event is None:
            continue
        for event_id in head.event.proofs:
            with workspace_scope(workspace, [head.scope]):
                _insert_once(workspace.events, row=_proof_row(workspace, head, event_id))


def _proof_row(workspace: Workspace, head: LeafHead, event_id: UUID) -> Event:
    return Event(
        id=event_id,
        workspace=workspace,
        scope_id=head.scope,
        kind=Event.Kind.TOOL_RESULT,
        category=head.category,
        session_ref=head.session,
        payload_text="",
        text_sha256="",
        succeeded=True,
        received_at=head.event.received_at if head.event else head.observed_at,
        status=Event.Status.PROCESSED,
    )


def _write_mentions(workspace: Workspace, *, plan: TreePlan, entities: Mapping[UUID, UUID]) -> None:
    own = plan.sidecar.entity.id if plan.sidecar.entity else None
    LeafEntity.objects.bulk_create(
        [
            LeafEntity(
                workspace=workspace,
                scope_id=plan.sidecar.tree.scope,
                leaf_id=leaf.id,
                entity_id=entity_id,
            )
            for leaf in plan.leaves.values()
            if leaf.file is not None
            for entity_id in sorted(_mentioned(leaf.file.head, entities=entities) - {own})
        ],
        ignore_conflicts=True,
    )


def _mentioned(head: LeafHead, *, entities: Mapping[UUID, UUID]) -> set[UUID]:
    """What was merged since it was written is mentioned as what it is part of."""
    return {entities[entity_id] for entity_id in head.secondary if entity_id in entities}


def _queue(workspace: Workspace, *, plan: TreePlan) -> None:
    """Embeddings, and the pass that writes what is missing and the sidecar anew."""
    scope_id = plan.sidecar.tree.scope
    searchable = [leaf.id for leaf in plan.leaves.values() if _is_searchable(leaf)]
    for node_id in (*searchable, *plan.summaries):
        add_job(
            workspace,
            topic=Job.Topic.NODE_CREATED,
            target_id=node_id,
            scope_id=scope_id,
            wake=False,
        )
    request_seal(workspace, tree=workspace.trees.get(id=plan.sidecar.tree.id))


def _is_searchable(leaf: PlannedLeaf) -> bool:
    return leaf.status in EMBEDDED_LEAVES and leaf.forgotten_at is None
