"""From the files of one tree to its topology: which nodes there are, and how they relate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from workspaces.body_paths import summary_path
from workspaces.services.rebuild.found import FoundTree, Problem
from workspaces.services.rebuild.heads import Sidecar
from workspaces.services.rebuild.leaf_links import one_active_text, whole_references
from workspaces.services.rebuild.leaf_states import PlannedLeaf, gather_evidence, plan_leaves
from workspaces.services.rebuild.reach import reach
from workspaces.services.rebuild.summary_choice import (
    PlannedSummary,
    choose_summaries,
    leaf_parents,
)


@dataclass(frozen=True, slots=True)
class TreePlan:
    """`root` and `height` of the tree as it will be; `parents` of active leaves by leaf id.

    `given_up` are files that no row will name: replaced, hidden or erased ones.
    """

    directory: str
    sidecar: Sidecar
    leaves: Mapping[UUID, PlannedLeaf]
    summaries: Mapping[UUID, PlannedSummary]
    parents: Mapping[UUID, UUID]
    root: UUID | None
    height: int
    given_up: Sequence[str]
    problems: Sequence[Problem]

    def level_of(self, node: PlannedSummary) -> int:
        return max(1, self.height - node.file.head.height + 1)

    def path_of(self, node: PlannedSummary) -> str:
        return summary_path(self.directory, level=self.level_of(node), summary_id=node.id)


def plan_tree(found: FoundTree, *, sidecar: Sidecar) -> TreePlan:
    problems = list(found.problems)
    reached = reach(sidecar, summaries=found.summaries)
    problems += [
        Problem(f"summary:{node_id}", "its file is missing or damaged")
        for node_id in sorted(reached.missing)
    ]
    evidence = gather_evidence(found, sidecar=sidecar, reached=reached)
    leaves = plan_leaves(found, sidecar=sidecar, evidence=evidence, problems=problems)
    leaves = whole_references(leaves, problems=problems)
    leaves = one_active_text(leaves, anchored=evidence.anchored, problems=problems)
    summaries = choose_summaries(
        reached, summaries=found.summaries, leaves=leaves, problems=problems
    )
    root = sidecar.tree.root if sidecar.tree.root in summaries else None
    return TreePlan(
        directory=found.directory,
        sidecar=sidecar,
        leaves=leaves,
        summaries=summaries,
        parents=leaf_parents(summaries, leaves=leaves),
        root=root,
        height=summaries[root].file.head.height if root else 0,
        given_up=_given_up(found, leaves=leaves, summaries=summaries),
        problems=problems,
    )


def _given_up(
    found: FoundTree,
    *,
    leaves: Mapping[UUID, PlannedLeaf],
    summaries: Mapping[UUID, PlannedSummary],
) -> list[str]:
    """Readable summaries that are not in force, and what is left of erased leaves."""
    paths = [
        path
        for node_id, node in found.summaries.items()
        if node_id not in summaries
        for path in node.paths
    ]
    tombs = [leaf.id for leaf in leaves.values() if leaf.tombstone is not None]
    return paths + [found.leaves[leaf_id].path for leaf_id in tombs if leaf_id in found.leaves]
