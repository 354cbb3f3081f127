"""Handler of `entity.merge`: the leaves of a merge in batches, or its undo in batches.

Every batch is one transaction that records what it did, so a worker that is killed leaves a
merge that the next one goes on with, and an undo that knows exactly what to take back.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from uuid import UUID

from django.db import IntegrityError
from django.db.models import F

from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from workspaces.bodies import BodyCorrupt
from workspaces.models.entities import Entity
from workspaces.models.merges import EntityMerge, MergedLeaf
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree
from workspaces.services.entities.merge import reopen_merge_of, request_moves
from workspaces.services.entities.moving import (
    Move,
    active_with_text,
    count_and_seal,
    link_twins,
    lock_leaves,
    seal_at_last,
    settle_moves,
    text_of,
    write_copies,
)
from workspaces.services.entities.refresh import request_refresh
from workspaces.services.entities.unmerge import undo_batch
from workspaces.services.jobs import ClaimedJob, require_lease
from workspaces.services.owners import Owner, entity_owner, make_owner

BATCH_LEAVES = 25
BATCH_MENTIONS = 200
PASS_SECONDS = 60  # a long merge gives other jobs a turn
MOVING = EntityMerge.State.MOVING


def run_merge(workspace: Workspace, job: ClaimedJob) -> None:
    """Batch after batch until nothing is left, or time is up."""
    deadline = time.monotonic() + PASS_SECONDS
    unreadable: set[UUID] = set()
    while (step := _next_step(workspace, job=job)) is not None:
        if not step(workspace, job, unreadable):
            return
        if time.monotonic() > deadline:
            _go_on_later(workspace, job=job)
            return


Step = Callable[[Workspace, ClaimedJob, set[UUID]], bool]


def _next_step(workspace: Workspace, *, job: ClaimedJob) -> Step | None:
    """A merge whose undo was asked for turns round at the next batch."""
    with workspace_scope(workspace, [job.scope_id]):
        merge = workspace.merges.filter(id=job.target_id).first()
    steps: dict[str, Step] = {MOVING: _move_batch, EntityMerge.State.UNDOING: _undo_batch}
    return steps.get(merge.state) if merge is not None else None


def _go_on_later(workspace: Workspace, *, job: ClaimedJob) -> None:
    with workspace_scope(workspace, [job.scope_id]):
        request_moves(workspace, merge=workspace.merges.get(id=job.target_id))


def _undo_batch(workspace: Workspace, job: ClaimedJob, unreadable: set[UUID]) -> bool:
    return undo_batch(workspace, job)


def _move_batch(workspace: Workspace, job: ClaimedJob, unreadable: set[UUID]) -> bool:
    """Leaves first, then mentions, then the end. Raises BodyCorrupt for what cannot be moved."""
    with workspace_scope(workspace, [job.scope_id]):
        merge = workspace.merges.select_related("source", "target").get(id=job.target_id)
        leaves = _active_leaves(workspace, entity=merge.source, without=unreadable)
        owner = entity_owner(workspace, entity=merge.target)
    if not leaves:
        return _move_mentions(workspace, job, unreadable)
    texts = [(leaf, text_of(leaf)) for leaf in leaves]
    unreadable |= {leaf.id for leaf, text in texts if text is None}
    known = _known_texts(workspace, owner=owner, leaves=leaves)
    readable = [(leaf, text) for leaf, text in texts if text is not None]
    moves = write_copies(
        workspace,
        leaves=[(leaf, text) for leaf, text in readable if leaf.fingerprint not in known],
        owner=owner,
    )
    linked = [leaf.id for leaf, _ in readable if leaf.fingerprint in known]
    # A writer may make the same tree, or write the same text there, in this moment: look again.
    with suppress(IntegrityError):
        _commit_moves(workspace, job, owner=owner, moves=moves, linked=linked)
    return True


def _active_leaves(workspace: Workspace, *, entity: Entity, without: set[UUID]) -> list[SourceLeaf]:
    rows = workspace.leaves.filter(entity=entity, status=SourceLeaf.Status.ACTIVE)
    return list(rows.exclude(id__in=without).order_by("observed_at", "id")[:BATCH_LEAVES])


def _known_texts(
    workspace: Workspace, *, owner: Owner, leaves: Sequence[SourceLeaf]
) -> dict[str, UUID]:
    if owner.tree_is_new:
        return {}
    with workspace_scope(workspace, [owner.tree.scope_id]):
        return active_with_text(
            workspace, tree_id=owner.tree.id, fingerprints=[leaf.fingerprint for leaf in leaves]
        )


def _commit_moves(
    workspace: Workspace,
    job: ClaimedJob,
    *,
    owner: Owner,
    moves: Sequence[Move],
    linked: Sequence[UUID],
) -> None:
    """What changed since it was read is left for the next batch."""
    with workspace_scope(workspace, [job.scope_id]):
        merge = workspace.merges.select_for_update(of=("self",)).get(id=job.target_id)
        if merge.state != MOVING:
            return
        make_owner(owner)
        source, target = _lock_trees(workspace, merge=merge, target_id=owner.tree.id)
        held = lock_leaves(workspace, ids=[*(move.old.id for move in moves), *linked])
        active = {key: row for key, row in held.items() if row.status == SourceLeaf.Status.ACTIVE}
        require_lease(job)
        known = active_with_text(
            workspace,
            tree_id=target.id,
            fingerprints=[leaf.fingerprint for leaf in active.values()],
        )
        due = [m for m in moves if m.old.id in active and m.old.fingerprint not in known]
        settle_moves(workspace, moves=due)
        twins = [leaf for leaf in active.values() if leaf.fingerprint in known]
        linked_to = link_twins(workspace, leaves=twins, tree_id=target.id)
        moved_to = {move.old.id: move.new.id for move in due}
        _note(workspace, merge=merge, kind=MergedLeaf.Kind.MOVED, became=moved_to)
        _note(workspace, merge=merge, kind=MergedLeaf.Kind.LINKED, became=linked_to)
        count_and_seal(workspace, tree=source, added=-len(moved_to) - len(linked_to))
        count_and_seal(workspace, tree=target, added=len(due))
        faults.point("merge.before_commit")
    faults.point("merge.after_commit")


def _lock_trees(workspace: Workspace, *, merge: EntityMerge, target_id: UUID) -> tuple[Tree, Tree]:
    source_id = workspace.trees.values_list("id", flat=True).get(entity=merge.source_id)
    rows = workspace.trees.select_for_update(of=("self",)).filter(id__in=[source_id, target_id])
    trees = {tree.id: tree for tree in rows.order_by("id")}
    return trees[source_id], trees[target_id]


def _note(
    workspace: Workspace, *, merge: EntityMerge, kind: str, became: Mapping[UUID, UUID]
) -> None:
    MergedLeaf.objects.bulk_create(
        MergedLeaf(
            workspace=workspace,
            scope_id=merge.scope_id,
            merge=merge,
            leaf_id=leaf_id,
            became_id=became_id,
            kind=kind,
        )
        for leaf_id, became_id in became.items()
    )
    workspace.merges.filter(id=merge.id).update(leaves_done=F("leaves_done") + len(became))


def _move_mentions(workspace: Workspace, job: ClaimedJob, unreadable: set[UUID]) -> bool:
    """Leaves of other trees that speak of the source speak of the target; then the merge ends.

    A leaf that speaks of both keeps both links: the one to the merged entity rests.
    """
    with workspace_scope(workspace, [job.scope_id]):
        merge = workspace.merges.select_for_update(of=("self",)).get(id=job.target_id)
        if merge.state != MOVING:
            return True
        require_lease(job)
        speaking = workspace.leaf_entities.filter(entity=merge.target_id).values("leaf_id")
        links = workspace.leaf_entities.filter(entity=merge.source_id)
        links = links.exclude(leaf__entity=merge.target_id).exclude(leaf__in=speaking)
        batch = list(links.order_by("id")[:BATCH_MENTIONS])
        if not batch:
            return _finish(workspace, job, merge=merge, unreadable=unreadable)
        workspace.leaf_entities.filter(id__in=[link.id for link in batch]).update(
            entity=merge.target_id
        )
        MergedLeaf.objects.bulk_create(
            [
                MergedLeaf(
                    workspace=workspace,
                    scope_id=merge.scope_id,
                    merge=merge,
                    leaf_id=link.leaf_id,
                    kind=MergedLeaf.Kind.MENTION,
                )
                for link in batch
            ],
            ignore_conflicts=True,
        )
        faults.point("merge.mentions")
    return True


def _finish(
    workspace: Workspace, job: ClaimedJob, *, merge: EntityMerge, unreadable: set[UUID]
) -> bool:
    """Nothing active is left under the trees' locks; returns whether there is more to do."""
    entities = [merge.source_id, merge.target_id]
    trees = list(
        workspace.trees.select_for_update(of=("self",)).filter(entity__in=entities).order_by("id")
    )
    if _active_leaves(workspace, entity=merge.source, without=unreadable):
        return True
    if unreadable:
        raise BodyCorrupt(
            "Some leaves cannot be moved: their bodies are missing or damaged.",
            detail={"leaves": len(unreadable)},
        )
    merge.state, merge.finished_at = EntityMerge.State.DONE, now()
    merge.save(update_fields=["state", "finished_at"])
    seal_at_last(workspace, trees=trees)
    request_refresh(workspace, entities=[merge.target])
    reopen_merge_of(workspace, entity_id=merge.target_id)
    faults.point("merge.before_finish")
    return False
