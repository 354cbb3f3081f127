"""A new leaf as a row that is not saved yet, and its file."""

from collections.abc import Sequence
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from workspaces.bodies import WrittenBody, render_body, save_bodies, write_body, written_body
from workspaces.body_paths import leaf_path, scope_directory
from workspaces.models.log import Category, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.front_matter import Birth, leaf_front_matter, with_checksum
from workspaces.services.leaf_rows import LeafPlan
from workspaces.services.owners import Owner
from workspaces.services.policies import leaf_policy, trust_of


def write_new_leaves(workspace: Workspace, *, plans: Sequence[LeafPlan]) -> list[SourceLeaf]:
    """Unsaved leaves, in order; the files of all of them are on disk when this returns."""
    trees = {plan.owner.tree.id: plan.owner.tree for plan in plans}
    directories = {key: scope_directory(workspace, tree=tree) for key, tree in trees.items()}
    leaves, files = [], {}
    for plan in plans:
        leaf = build_leaf(workspace, plan=plan, directory=directories[plan.owner.tree.id])
        birth = birth_of(workspace, plan=plan)
        data = leaf_body(leaf, owner=plan.owner, text=plan.chunk.text, birth=birth)
        body = written_body(leaf.body_path, data)
        leaf.body_sha256, leaf.body_bytes = body.sha256, body.size
        leaves.append(leaf)
        files[leaf.body_path] = data
    save_bodies(files)
    return leaves


def write_leaf_body(
    leaf: SourceLeaf, *, owner: Owner, text: str, birth: Birth | None = None
) -> WrittenBody:
    head = leaf_front_matter(leaf, tree=owner.tree, entity=owner.entity, birth=birth)
    return write_body(
        leaf.body_path, front_matter=with_checksum(head, markdown=text), markdown=text
    )


def leaf_body(leaf: SourceLeaf, *, owner: Owner, text: str, birth: Birth | None) -> bytes:
    head = leaf_front_matter(leaf, tree=owner.tree, entity=owner.entity, birth=birth)
    return render_body(with_checksum(head, markdown=text), text)


def birth_of(workspace: Workspace, *, plan: LeafPlan) -> Birth:
    """What the plan knows and the leaf's row does not."""
    return Birth(
        event=plan.event,
        chunk=plan.chunk,
        decision=plan.placement.decision if plan.event.category == Category.INTERACTION else "",
        match_confidence=plan.placement.match_confidence,
        create_confidence=plan.placement.create_confidence,
        judged_by=plan.judged_by,
        secondary_ids=[UUID(given) for given in plan.placement.secondary_ids],
        newer_id=plan.resolution.leaf_id if plan.resolution.kind == "history" else None,
        ended_at=plan.resolution.until,
        proof_ids=_proof_ids(workspace, event=plan.event),
    )


def _proof_ids(workspace: Workspace, *, event: Event) -> list[UUID]:
    if not event.evidence_event_ids:
        return []
    with workspace_scope(workspace, [event.scope_id]):
        proofs = workspace.events.filter(
            id__in=event.evidence_event_ids, kind=Event.Kind.TOOL_RESULT, succeeded=True
        )
        return list(proofs.order_by("id").values_list("id", flat=True))


def build_leaf(workspace: Workspace, *, plan: LeafPlan, directory: str) -> SourceLeaf:
    event, placement, entity = plan.event, plan.placement, plan.owner.entity
    policy = leaf_policy(entity.type if entity else None)
    leaf_id = new_id()
    return SourceLeaf(
        id=leaf_id,
        workspace=workspace,
        scope_id=event.scope_id,
        category=event.category,
        tree_id=plan.owner.tree.id,
        chunk=plan.chunk,
        entity_id=entity.id if entity else None,
        origin_kind=event.kind,
        session_ref=event.session_ref,
        actor=event.actor,
        title=placement.title,
        summary=placement.summary,
        body_path=leaf_path(directory, leaf_id=leaf_id),
        fingerprint=plan.chunk.fingerprint,
        subject_key=placement.subject_key,
        observed_at=event.occurred_at or event.received_at,
        confidence=plan.chunk.admission_confidence or 0.0,
        verification_policy=policy.verification,
        staleness_policy=policy.staleness,
        stale_after_days=policy.stale_after_days,
        supersedes_leaf_id=plan.resolution.leaf_id if plan.resolution.kind == "supersede" else None,
        labels=list(placement.labels),
        language=plan.language,
        trust=trust_of(event.kind),
    )
