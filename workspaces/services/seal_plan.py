"""What is due in a tree: the next step of a pass, read from the topology alone.

Order: replace what is stale from the bottom up, seal a full buffer, seal full heights, and
refresh the root last, so that each node is written once in a pass.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree

LIVE = (SummaryNode.Status.SEALED, SummaryNode.Status.STALE, SummaryNode.Status.QUARANTINED)
BEHIND = (SummaryNode.Status.STALE, SummaryNode.Status.QUARANTINED)

StepKind = Literal["replace", "seal", "root", "promote", "retire"]
Child = SourceLeaf | SummaryNode


@dataclass(frozen=True, slots=True)
class Step:
    """`children` in order of time. `old` is the node that goes: replaced, or the former root.

    seal: a new node over children; replace: a new node in old's place; root: a provisional root
    over all top nodes; promote: the only child becomes the root; retire: old goes, nothing comes.
    """

    kind: StepKind
    tree: Tree
    height: int
    children: Sequence[Child]
    old: SummaryNode | None = None
    becomes_root: bool = False


def next_step(workspace: Workspace, *, tree: Tree, threshold: int) -> Step | None:
    """None when nothing is due. Runs inside the caller's step; reads the top of the tree only."""
    nodes = _top_of_tree(workspace, tree=tree)
    behind = _lowest_behind(nodes)
    if behind is not None:
        return _replacement(workspace, tree=tree, node=behind)
    root = next((node for node in nodes if node.is_root), None)
    tops = _top_nodes(nodes, root=root)
    return (
        _full_buffer(workspace, tree=tree, root=root, threshold=threshold)
        or _full_height(tree=tree, tops=tops, root=root, threshold=threshold)
        or _root_refresh(tree=tree, tops=tops, root=root)
    )


# The root, the lowest that is behind, and what has nothing above it but a provisional root, in one
# statement: it is read after each memory. Each branch is a look-up in an index of its own.
_TOP_OF_TREE = """
WITH root AS (
  SELECT id, provisional FROM workspaces_summarynode
   WHERE workspace_id = %(workspace)s AND tree_id = %(tree)s AND is_root
     AND status IN ('sealed', 'stale', 'quarantined'))
SELECT * FROM workspaces_summarynode WHERE workspace_id = %(workspace)s AND id IN (
  SELECT id FROM root
   UNION ALL
  (SELECT id FROM workspaces_summarynode
    WHERE workspace_id = %(workspace)s AND tree_id = %(tree)s AND NOT provisional
      AND status IN ('stale', 'quarantined')
    ORDER BY height, time_range_start, id LIMIT 1)
   UNION ALL
  SELECT id FROM workspaces_summarynode
   WHERE workspace_id = %(workspace)s AND tree_id = %(tree)s AND status = 'sealed'
     AND parent_id IS NULL
   UNION ALL
  SELECT child.id FROM workspaces_summarynode AS child JOIN root ON child.parent_id = root.id
   WHERE child.workspace_id = %(workspace)s AND child.status = 'sealed' AND root.provisional)
"""
_BUFFER = """
SELECT * FROM workspaces_sourceleaf
 WHERE workspace_id = %s AND tree_id = %s AND status = 'active' AND parent_id IS NULL
 ORDER BY observed_at, id LIMIT %s
"""


def _top_of_tree(workspace: Workspace, *, tree: Tree) -> list[SummaryNode]:
    return list(workspace.summaries.raw(_TOP_OF_TREE, {"workspace": workspace.pk, "tree": tree.id}))


def _lowest_behind(nodes: Sequence[SummaryNode]) -> SummaryNode | None:
    """A stale provisional root is not replaced but refreshed with the top nodes of the moment."""
    behind = [node for node in nodes if node.status in BEHIND and not node.provisional]
    return min(behind, key=lambda node: (node.height, node.time_range_start, node.id), default=None)


def _replacement(workspace: Workspace, *, tree: Tree, node: SummaryNode) -> Step:
    children = live_children(workspace, node=node)
    kind: StepKind = "replace" if children else "retire"
    return Step(kind, tree, node.height, children, old=node, becomes_root=node.is_root)


def live_children(workspace: Workspace, *, node: SummaryNode) -> list[Child]:
    if node.child_kind == SummaryNode.ChildKind.LEAF:
        leaves = workspace.leaves.filter(parent=node, status=SourceLeaf.Status.ACTIVE)
        return list(leaves.order_by("observed_at", "id"))
    summaries = workspace.summaries.filter(parent=node, status=SummaryNode.Status.SEALED)
    return list(summaries.order_by("time_range_start", "id"))


def _full_buffer(
    workspace: Workspace, *, tree: Tree, root: SummaryNode | None, threshold: int
) -> Step | None:
    oldest = list(workspace.leaves.raw(_BUFFER, [workspace.pk, tree.id, threshold]))
    if len(oldest) < threshold:
        return None
    return Step("seal", tree, 1, oldest, becomes_root=root is None)


def _top_nodes(nodes: Sequence[SummaryNode], *, root: SummaryNode | None) -> list[SummaryNode]:
    """Sealed nodes with nothing above them but the provisional root, by time."""
    above = {None, root.id} if root is not None and root.provisional else {None}
    tops = [
        node
        for node in nodes
        if node.status == SummaryNode.Status.SEALED
        and not node.provisional
        and node.parent_id in above
    ]
    return sorted(tops, key=lambda node: (node.time_range_start, node.id))


def _full_height(
    *, tree: Tree, tops: Sequence[SummaryNode], root: SummaryNode | None, threshold: int
) -> Step | None:
    by_height: dict[int, list[SummaryNode]] = defaultdict(list)
    for node in tops:
        by_height[node.height].append(node)
    for height in sorted(by_height):
        if len(by_height[height]) >= threshold:
            chosen = by_height[height][:threshold]
            is_only_top = len(chosen) == len(tops)
            old = root if is_only_top and root is not None and root.provisional else None
            return Step("seal", tree, height + 1, chosen, old=old, becomes_root=is_only_top)
    return None


def _root_refresh(
    *, tree: Tree, tops: Sequence[SummaryNode], root: SummaryNode | None
) -> Step | None:
    provisional = root if root is not None and root.provisional else None
    if not tops:
        return Step("retire", tree, 0, (), old=provisional) if provisional else None
    if len(tops) == 1:
        is_root = root is not None and root.id == tops[0].id
        return None if is_root else Step("promote", tree, tops[0].height, tops, old=provisional)
    covered = {node.id for node in tops if provisional and node.parent_id == provisional.id}
    is_current = provisional is not None and provisional.status == SummaryNode.Status.SEALED
    if is_current and covered == {node.id for node in tops}:
        return None
    height = max(node.height for node in tops) + 1
    return Step("root", tree, height, tops, old=provisional, becomes_root=True)


def child_key(children: Sequence[Child]) -> list[tuple[UUID, str, str, UUID | None]]:
    """What a plan rests on; the commit compares it with the rows as they are then."""
    return [(child.id, child.body_sha256, child.status, child.parent_id) for child in children]
