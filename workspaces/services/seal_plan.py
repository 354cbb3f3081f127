"""What is due in trees: the next step of a pass over each, read from the topology alone.

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


def next_steps(workspace: Workspace, *, trees: Sequence[Tree], threshold: int) -> list[Step]:
    """One of each tree in which anything is due, in the order of the trees.

    Inside the caller's step; reads the tops of the trees only.
    """
    nodes = _tops_of_trees(workspace, trees=trees)
    behind = {tree.id: node for tree in trees if (node := _lowest_behind(nodes[tree.id]))}
    children = live_children(workspace, nodes=list(behind.values()))
    rest = [tree for tree in trees if tree.id not in behind]
    buffers = _buffers(workspace, trees=rest, threshold=threshold)
    steps: list[Step | None] = []
    for tree in trees:
        if tree.id in behind:
            node = behind[tree.id]
            steps.append(_replacement(tree=tree, node=node, children=children[node.id]))
            continue
        root = next((node for node in nodes[tree.id] if node.is_root), None)
        tops = _top_nodes(nodes[tree.id], root=root)
        steps.append(
            _full_buffer(tree=tree, root=root, buffer=buffers[tree.id], threshold=threshold)
            or _full_height(tree=tree, tops=tops, root=root, threshold=threshold)
            or _root_refresh(tree=tree, tops=tops, root=root)
        )
    return [step for step in steps if step is not None]


# The root, the lowest that is behind, and what has nothing above it but a provisional root, in one
# statement: it is read after each memory. Each branch is a look-up in an index of its own.
_TOPS_OF_TREES = """
WITH root AS (
  SELECT id, provisional FROM workspaces_summarynode
   WHERE workspace_id = %(workspace)s AND tree_id = ANY(%(trees)s::uuid[]) AND is_root
     AND status IN ('sealed', 'stale', 'quarantined'))
SELECT * FROM workspaces_summarynode WHERE workspace_id = %(workspace)s AND id IN (
  SELECT id FROM root
   UNION ALL
  SELECT behind.id FROM unnest(%(trees)s::uuid[]) AS wanted (tree) CROSS JOIN LATERAL (
    SELECT id FROM workspaces_summarynode
     WHERE workspace_id = %(workspace)s AND tree_id = wanted.tree AND NOT provisional
       AND status IN ('stale', 'quarantined')
     ORDER BY height, time_range_start, id LIMIT 1) AS behind
   UNION ALL
  SELECT id FROM workspaces_summarynode
   WHERE workspace_id = %(workspace)s AND tree_id = ANY(%(trees)s::uuid[]) AND status = 'sealed'
     AND parent_id IS NULL
   UNION ALL
  SELECT child.id FROM workspaces_summarynode AS child JOIN root ON child.parent_id = root.id
   WHERE child.workspace_id = %(workspace)s AND child.status = 'sealed' AND root.provisional)
"""
_BUFFERS = """
SELECT leaf.* FROM unnest(%(trees)s::uuid[]) AS wanted (tree) CROSS JOIN LATERAL (
  SELECT * FROM workspaces_sourceleaf
   WHERE workspace_id = %(workspace)s AND tree_id = wanted.tree AND status = 'active'
     AND parent_id IS NULL
   ORDER BY observed_at, id LIMIT %(most)s) AS leaf
 ORDER BY leaf.observed_at, leaf.id
"""


def _tops_of_trees(workspace: Workspace, *, trees: Sequence[Tree]) -> dict[UUID, list[SummaryNode]]:
    found: dict[UUID, list[SummaryNode]] = defaultdict(list)
    values = {"workspace": workspace.pk, "trees": [tree.id for tree in trees]}
    for node in workspace.summaries.raw(_TOPS_OF_TREES, values):
        found[node.tree_id].append(node)
    return found


def _buffers(
    workspace: Workspace, *, trees: Sequence[Tree], threshold: int
) -> dict[UUID, list[SourceLeaf]]:
    """By tree the oldest leaves without a parent, as many as are sealed together."""
    found: dict[UUID, list[SourceLeaf]] = defaultdict(list)
    if trees:
        ids = [tree.id for tree in trees]
        values = {"workspace": workspace.pk, "trees": ids, "most": threshold}
        for leaf in workspace.leaves.raw(_BUFFERS, values):
            found[leaf.tree_id].append(leaf)
    return found


def _lowest_behind(nodes: Sequence[SummaryNode]) -> SummaryNode | None:
    """A stale provisional root is not replaced but refreshed with the top nodes of the moment."""
    behind = [node for node in nodes if node.status in BEHIND and not node.provisional]
    return min(behind, key=lambda node: (node.height, node.time_range_start, node.id), default=None)


def _replacement(*, tree: Tree, node: SummaryNode, children: Sequence[Child]) -> Step:
    kind: StepKind = "replace" if children else "retire"
    return Step(kind, tree, node.height, children, old=node, becomes_root=node.is_root)


def live_children(workspace: Workspace, *, nodes: Sequence[SummaryNode]) -> dict[UUID, list[Child]]:
    """By node, in order of time."""
    found: dict[UUID, list[Child]] = {node.id: [] for node in nodes}
    over_leaves = [n.id for n in nodes if n.child_kind == SummaryNode.ChildKind.LEAF]
    over_summaries = [node.id for node in nodes if node.id not in over_leaves]
    children: list[Child] = []
    if over_leaves:
        leaves = workspace.leaves.filter(parent__in=over_leaves, status=SourceLeaf.Status.ACTIVE)
        children += leaves.order_by("observed_at", "id")
    if over_summaries:
        below = workspace.summaries.filter(
            parent__in=over_summaries, status=SummaryNode.Status.SEALED
        )
        children += below.order_by("time_range_start", "id")
    for child in children:
        if child.parent_id is not None:
            found[child.parent_id].append(child)
    return found


def _full_buffer(
    *, tree: Tree, root: SummaryNode | None, buffer: Sequence[SourceLeaf], threshold: int
) -> Step | None:
    if len(buffer) < threshold:
        return None
    return Step("seal", tree, 1, buffer, becomes_root=root is None)


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
