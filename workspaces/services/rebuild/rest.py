"""What reaches from one tree to another, written when all trees are there."""

from dataclasses import dataclass, field
from uuid import UUID

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.ids import new_id
from workspaces.models.merges import EntityMerge
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.entities.merge import request_moves
from workspaces.services.rebuild.heads import LeafHead
from workspaces.services.rebuild.plan import TreePlan
from workspaces.services.rebuild.rows import write_proofs

ACTIVE = SourceLeaf.Status.ACTIVE


@dataclass(slots=True)
class Rest:
    """`moved`: pairs of a leaf and the one that it was in another tree."""

    moved: list[tuple[UUID, UUID]] = field(default_factory=list)
    proved: list[LeafHead] = field(default_factory=list)

    def add(self, plan: TreePlan) -> None:
        for leaf in plan.leaves.values():
            origin = leaf.file.head if leaf.file else leaf.tombstone
            if origin is not None and origin.moved_from is not None:
                self.moved.append((leaf.id, origin.moved_from))
            if leaf.file and leaf.file.head.event and leaf.file.head.event.proofs:
                self.proved.append(leaf.file.head)


def write_rest(workspace: Workspace, *, rest: Rest) -> None:
    """May run again: what is there already stays."""
    with workspace_scope(workspace, ALL_SCOPES):
        wanted = {origin for _, origin in rest.moved}
        there = set(workspace.leaves.filter(id__in=wanted).values_list("id", flat=True))
        for leaf_id, origin in rest.moved:
            if origin in there:
                workspace.leaves.filter(id=leaf_id).update(moved_from_leaf=origin)
        _write_merges(workspace)
    write_proofs(workspace, heads=rest.proved)


def _write_merges(workspace: Workspace) -> None:
    """Each as one that is still at work: its job moves what it had not moved, and ends it.

    What the merge did is not in the bodies, so that it cannot be taken back.
    """
    merged = workspace.entities.filter(merged_into__isnull=False, merges__isnull=True)
    pairs = merged.order_by("id").values_list("id", "scope_id", "merged_into_id")
    for entity_id, scope_id, target_id in list(pairs):
        merge = EntityMerge.objects.create(
            workspace=workspace,
            scope_id=scope_id,
            source_id=entity_id,
            target_id=target_id,
            audit_id=new_id(),
            leaves_total=workspace.leaves.filter(entity=entity_id, status=ACTIVE).count(),
        )
        request_moves(workspace, merge=merge)
