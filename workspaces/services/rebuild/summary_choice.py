"""Which summaries come back: those in force whose whole matter came back, unchanged.

A summary speaks of all its children. When one of them is lost, forgotten or erased, the summary
stays away with everything above it, and the next pass writes it from what is there.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from workspaces.models.trees import SourceLeaf, SummaryNode
from workspaces.services.rebuild.found import FoundSummary, Problem
from workspaces.services.rebuild.leaf_states import PlannedLeaf
from workspaces.services.rebuild.reach import Reach

SEALED, STALE = SummaryNode.Status.SEALED, SummaryNode.Status.STALE
REMEMBERED = (SourceLeaf.Status.ACTIVE, SourceLeaf.Status.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class PlannedSummary:
    """One row to be made. `parent` None: a top node, or the root."""

    file: FoundSummary
    status: str
    parent: UUID | None = None

    @property
    def id(self) -> UUID:
        return self.file.head.id


def choose_summaries(
    reached: Reach,
    *,
    summaries: Mapping[UUID, FoundSummary],
    leaves: Mapping[UUID, PlannedLeaf],
    problems: list[Problem],
) -> dict[UUID, PlannedSummary]:
    """By id, from the bottom up."""
    chosen: dict[UUID, PlannedSummary] = {}
    for node_id in sorted(reached.in_force, key=lambda key: (summaries[key].head.height, key)):
        node = summaries[node_id]
        status = reached.in_force[node_id]
        if not _has_its_matter(node, chosen=chosen, leaves=leaves):
            problems.append(Problem(node.paths[0], "what it was written from is not all there"))
            continue
        if not _is_current(node, chosen=chosen, leaves=leaves):
            status = STALE
        chosen[node_id] = PlannedSummary(node, status)
    return with_parents(chosen)


def with_parents(chosen: Mapping[UUID, PlannedSummary]) -> dict[UUID, PlannedSummary]:
    parents = {child: node.id for node in chosen.values() for child in node.file.head.children}
    return {key: replace(node, parent=parents.get(key)) for key, node in chosen.items()}


def leaf_parents(
    chosen: Mapping[UUID, PlannedSummary], *, leaves: Mapping[UUID, PlannedLeaf]
) -> dict[UUID, UUID]:
    """Of active leaves: only those have a place in the tree."""
    return {
        child: node.id
        for node in chosen.values()
        for child in node.file.head.children
        if child in leaves and leaves[child].status == SourceLeaf.Status.ACTIVE
    }


def _has_its_matter(
    node: FoundSummary,
    *,
    chosen: Mapping[UUID, PlannedSummary],
    leaves: Mapping[UUID, PlannedLeaf],
) -> bool:
    """Every child is there, remembered, lower, and byte for byte what was summarised."""
    lines = []
    for child in node.head.children:
        body = _body_of(child, node=node, chosen=chosen, leaves=leaves)
        if body is None:
            return False
        lines.append(f"{child}:{body}")
    digest = hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
    return digest == node.head.child_set_sha256


def _body_of(
    child: UUID,
    *,
    node: FoundSummary,
    chosen: Mapping[UUID, PlannedSummary],
    leaves: Mapping[UUID, PlannedLeaf],
) -> str | None:
    """The hash of the child's file; None when it cannot be below this node."""
    if node.head.child_kind == SummaryNode.ChildKind.LEAF:
        leaf = leaves.get(child)
        is_there = leaf is not None and leaf.status in REMEMBERED and leaf.forgotten_at is None
        return leaf.file.sha256 if leaf and leaf.file and is_there else None
    below = chosen.get(child)
    is_lower = below is not None and below.file.head.height < node.head.height
    return below.file.sha256 if below and is_lower else None


def _is_current(
    node: FoundSummary,
    *,
    chosen: Mapping[UUID, PlannedSummary],
    leaves: Mapping[UUID, PlannedLeaf],
) -> bool:
    if node.head.child_kind == SummaryNode.ChildKind.LEAF:
        return all(leaves[child].status == SourceLeaf.Status.ACTIVE for child in node.head.children)
    return all(chosen[child].status == SEALED for child in node.head.children)
