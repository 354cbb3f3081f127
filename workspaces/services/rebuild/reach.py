"""Which summaries of a tree are in force: what hangs below the nodes that the sidecar names.

A sealed node is always written from current children, so all that it records is in force too.
Files of replaced nodes lie beside them for a day and are never reached.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from workspaces.models.trees import SummaryNode
from workspaces.services.rebuild.found import FoundSummary
from workspaces.services.rebuild.heads import Sidecar

READABLE = (SummaryNode.Status.SEALED, SummaryNode.Status.STALE)


@dataclass(frozen=True, slots=True)
class Reach:
    """`in_force`: status by id. `missing`: named, and no readable file. `hidden`: never read."""

    in_force: Mapping[UUID, str]
    missing: frozenset[UUID]
    hidden: frozenset[UUID]

    def covered(self, summaries: Mapping[UUID, FoundSummary]) -> set[UUID]:
        """Leaves that some summary in force, or a hidden one, was written from."""
        named = (*self.in_force, *self.hidden)
        return {
            child
            for node_id in named
            if (node := summaries.get(node_id)) is not None
            and node.head.child_kind == SummaryNode.ChildKind.LEAF
            for child in node.head.children
        }


def reach(sidecar: Sidecar, *, summaries: Mapping[UUID, FoundSummary]) -> Reach:
    in_force: dict[UUID, str] = {}
    missing: set[UUID] = set()
    hidden = {top.id for top in sidecar.tops if top.withheld or top.status not in READABLE}
    named = {top.id: str(top.status) for top in sidecar.tops if top.id not in hidden}
    waiting = list(named)
    while waiting:
        node_id = waiting.pop()
        status = named.get(node_id, str(SummaryNode.Status.SEALED))
        node = summaries.get(node_id)
        if node is None:
            missing.add(node_id)
        elif node_id not in in_force:
            in_force[node_id] = status
            if status == SummaryNode.Status.SEALED and _is_above_summaries(node):
                waiting += [child for child in node.head.children if child not in hidden]
    return Reach(in_force, frozenset(missing), frozenset(hidden))


def _is_above_summaries(node: FoundSummary) -> bool:
    return node.head.child_kind == SummaryNode.ChildKind.SUMMARY
