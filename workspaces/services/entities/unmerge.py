"""Taking a merge back: the entity lives again at once, its leaves return in batches.

Exactly the leaves that the merge took along and that are still active return. What was
forgotten, corrected or moved elsewhere since stays as it is now.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError

from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict
from holamem.text.normalise import normalise_name
from workspaces.models.entities import Entity
from workspaces.models.merges import EntityMerge, MergedLeaf
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree
from workspaces.services.entities.merge import IN_FORCE, point_to_present, request_moves
from workspaces.services.entities.moving import (
    Move,
    active_with_text,
    carry_mentions,
    count_and_seal,
    link_twins,
    lock_leaves,
    seal_at_last,
    settle_moves,
    text_of,
    write_copies,
)
from workspaces.services.entities.names import (
    compared_names,
    holder_of,
    lock_entities,
    lock_names,
    name_taken,
)
from workspaces.services.entities.refresh import request_refresh
from workspaces.services.jobs import ClaimedJob, require_lease
from workspaces.services.owners import Owner, entity_owner, make_owner

ACTIVE, INACTIVE = SourceLeaf.Status.ACTIVE, SourceLeaf.Status.INACTIVE
BATCH_LEAVES = 25
BATCH_MENTIONS = 200
RETURNING = (MergedLeaf.Kind.MOVED, MergedLeaf.Kind.LINKED)


@dataclass(frozen=True, slots=True)
class Returning:
    """`leaf` holds the text that returns; `before` is the leaf of the source as the merge met it.

    Not moved: `before` was only linked to a leaf of the target, which stays where it is.
    """

    leaf: SourceLeaf
    before: SourceLeaf
    is_moved: bool


def begin_undo(workspace: Workspace, *, scope_id: UUID, merge_id: UUID) -> EntityMerge:
    """Inside the step of the undo. Raises Conflict where the merge is no longer what it was."""
    lock_names(scope_id)
    merge = workspace.merges.select_for_update(of=("self",)).get(id=merge_id)
    if merge.state not in IN_FORCE:
        raise Conflict("This merge was undone already.", detail={"code": "already_undone"})
    held = lock_entities(workspace, ids=[merge.source_id, merge.target_id])
    source, target = held[merge.source_id], held[merge.target_id]
    if target.merged_into is not None:
        raise Conflict(
            f"{target.slug} was merged into {target.merged_into.slug} since; undo that first.",
            detail={"code": "merged", "slug": target.merged_into.slug},
        )
    _return_names(workspace, source=source, target=target, merge=merge)
    merge.state, merge.finished_at = EntityMerge.State.UNDOING, None
    merge.save(update_fields=["state", "finished_at"])
    point_to_present(workspace, scope_id=merge.scope_id)
    request_refresh(workspace, entities=[source, target])
    request_moves(workspace, merge=merge)
    return merge


def _return_names(
    workspace: Workspace, *, source: Entity, target: Entity, merge: EntityMerge
) -> None:
    """Names go back, but for those that the target has under its own name now, or a third one."""
    returned = {normalise_name(name) for name in merge.names_added}
    target.aliases = [name for name in target.aliases if normalise_name(name) not in returned]
    target.normalised_names = compared_names(target)
    target.save(update_fields=["aliases", "normalised_names"])
    source.merged_into = None
    source.normalised_names = []
    besides = [source.id]
    holder = _holder(workspace, source, name=source.name, besides=besides)
    if holder is not None:
        raise name_taken(holder, field="")
    source.aliases = [
        alias
        for alias in source.aliases
        if _holder(workspace, source, name=alias, besides=besides) is None
    ]
    source.normalised_names = compared_names(source)
    source.save(update_fields=["aliases", "normalised_names", "merged_into"])


def _holder(
    workspace: Workspace, source: Entity, *, name: str, besides: Sequence[UUID]
) -> Entity | None:
    return holder_of(
        workspace,
        scope_id=source.scope_id,
        compared=normalise_name(name),
        type=source.type,
        besides=besides,
    )


def undo_batch(workspace: Workspace, job: ClaimedJob) -> bool:
    """Leaves first, then mentions, then the end; False when nothing is left to do."""
    with workspace_scope(workspace, [job.scope_id]):
        merge = workspace.merges.select_related("source").get(id=job.target_id)
        entries = _open(workspace, merge_id=merge.id, kinds=RETURNING, limit=BATCH_LEAVES)
        due = _returning(entries, rows=_rows(workspace, entries=entries))
        owner = entity_owner(workspace, entity=merge.source)
    if not entries:
        return _return_mentions(workspace, job)
    texts = [(one.leaf, text) for one in due if (text := text_of(one.leaf)) is not None]
    moves = write_copies(workspace, leaves=texts, owner=owner)
    with suppress(IntegrityError):  # the same text was written there in this moment: look again
        _commit_return(workspace, job, entries=entries, owner=owner, moves=moves)
    return True


def _open(
    workspace: Workspace, *, merge_id: UUID, kinds: Sequence[str], limit: int
) -> list[MergedLeaf]:
    rows = workspace.merged_leaves.filter(merge=merge_id, kind__in=kinds, is_undone=False)
    return list(rows.order_by("id")[:limit])


def _rows(workspace: Workspace, *, entries: Sequence[MergedLeaf]) -> dict[UUID, SourceLeaf]:
    return {leaf.id: leaf for leaf in workspace.leaves.filter(id__in=_leaf_ids(entries))}


def _leaf_ids(entries: Sequence[MergedLeaf]) -> list[UUID]:
    return [key for entry in entries for key in (entry.leaf_id, entry.became_id) if key]


def _returning(
    entries: Sequence[MergedLeaf], *, rows: Mapping[UUID, SourceLeaf]
) -> list[Returning]:
    """Without what was forgotten, erased, replaced or moved on since the merge."""
    found = []
    for entry in entries:
        before, became = rows[entry.leaf_id], rows.get(entry.became_id or entry.leaf_id, None)
        is_untouched = before.status == INACTIVE and before.forgotten_at is None
        if became is None or became.status != ACTIVE or not is_untouched:
            continue
        is_moved = entry.kind == MergedLeaf.Kind.MOVED
        found.append(Returning(became if is_moved else before, before, is_moved))
    return found


def _commit_return(
    workspace: Workspace,
    job: ClaimedJob,
    *,
    entries: Sequence[MergedLeaf],
    owner: Owner,
    moves: Sequence[Move],
) -> None:
    """What changed since it was read does not return; the entries are settled either way."""
    with workspace_scope(workspace, [job.scope_id]):
        merge = workspace.merges.select_for_update(of=("self",)).get(id=job.target_id)
        if merge.state != EntityMerge.State.UNDOING:
            return
        make_owner(owner)
        home, away = _lock_trees(workspace, merge=merge)
        rows = lock_leaves(workspace, ids=_leaf_ids(entries))
        require_lease(job)
        due = {one.leaf.id: one for one in _returning(entries, rows=rows)}
        wanted = [move for move in moves if move.old.id in due]
        known = active_with_text(
            workspace, tree_id=home.id, fingerprints=[move.old.fingerprint for move in wanted]
        )
        back = _distinct_texts(wanted, known=known)
        settle_moves(workspace, moves=back)
        # What the leaf spoke of before the merge, its new owner among it.
        carry_mentions(workspace, pairs={due[m.old.id].before.id: m.new for m in back})
        twins = [move.old for move in wanted if move not in back]
        linked_to = link_twins(workspace, leaves=twins, tree_id=home.id)
        became = {move.old.id: move.new.id for move in back} | linked_to
        _follow(workspace, pairs={due[key].before.id: became[key] for key in became})
        gone = [move for move in wanted if due[move.old.id].is_moved]
        count_and_seal(workspace, tree=home, added=len(back))
        count_and_seal(workspace, tree=away, added=-len(gone))
        workspace.merged_leaves.filter(id__in=[entry.id for entry in entries]).update(
            is_undone=True
        )
        faults.point("unmerge.before_commit")


def _follow(workspace: Workspace, *, pairs: Mapping[UUID, UUID]) -> None:
    """What an earlier merge had brought to this tree stands in it as another leaf now."""
    for before_id, new_id in pairs.items():
        entries = workspace.merged_leaves.filter(became=before_id, is_undone=False)
        entries.update(became=new_id)


def _distinct_texts(moves: Sequence[Move], *, known: Mapping[str, UUID]) -> list[Move]:
    """One leaf for each text that the tree does not hold already."""
    chosen = {move.old.fingerprint: move for move in reversed(moves)}
    return [move for text, move in chosen.items() if text not in known]


def _lock_trees(workspace: Workspace, *, merge: EntityMerge) -> tuple[Tree, Tree]:
    rows = workspace.trees.select_for_update(of=("self",)).filter(
        entity__in=[merge.source_id, merge.target_id]
    )
    trees = {tree.entity_id: tree for tree in rows.order_by("id")}
    return trees[merge.source_id], trees[merge.target_id]


def _return_mentions(workspace: Workspace, job: ClaimedJob) -> bool:
    with workspace_scope(workspace, [job.scope_id]):
        merge = workspace.merges.select_for_update(of=("self",)).get(id=job.target_id)
        if merge.state != EntityMerge.State.UNDOING:
            return True
        require_lease(job)
        kinds = [MergedLeaf.Kind.MENTION]
        entries = _open(workspace, merge_id=merge.id, kinds=kinds, limit=BATCH_MENTIONS)
        if not entries:
            return _finish(workspace, merge=merge)
        ids = [entry.leaf_id for entry in entries]
        links = workspace.leaf_entities.filter(leaf__in=ids, entity=merge.target_id)
        links.update(entity=merge.source_id)
        workspace.merged_leaves.filter(id__in=[entry.id for entry in entries]).update(
            is_undone=True
        )
    return True


def _finish(workspace: Workspace, *, merge: EntityMerge) -> bool:
    entities = [merge.source_id, merge.target_id]
    rows = workspace.trees.select_for_update(of=("self",)).filter(entity__in=entities)
    trees = list(rows.order_by("id"))
    merge.state, merge.finished_at = EntityMerge.State.UNDONE, now()
    merge.save(update_fields=["state", "finished_at"])
    seal_at_last(workspace, trees=trees)
    request_refresh(workspace, entities=list(workspace.entities.filter(id__in=entities)))
    return False
