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
    behind = _lowest_behind(workspace, tree=tree)
    if behind is not None:
        return _replacement(workspace, tree=tree, node=behind)
    root = workspace.summaries.filter(tree=tree, is_root=True, status__in=LIVE).first()
    tops = _top_nodes(workspace, tree=tree, root=root)
    return (
        _full_buffer(workspace, tree=tree, root=root, threshold=threshold)
        or _full_height(tree=tree, tops=tops, root=root, threshold=threshold)
        or _root_refresh(workspace, tree=tree, tops=tops, root=root)
    )


def _lowest_behind(workspace: Workspace, *, tree: Tree) -> SummaryNode | None:
    """A stale provisional root is not replaced but refreshed with the top nodes of the moment."""
    return (
        workspace.summaries.filter(tree=tree, status__in=BEHIND, provisional=False)
        .order_by("height", "time_range_start", "id")
        .first()
    )


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
    leaves = workspace.leaves.filter(tree=tree, status=SourceLeaf.Status.ACTIVE, parent=None)
    oldest = list(leaves.order_by("observed_at", "id")[:threshold])
    if len(oldest) < threshold:
        return None
    return Step("seal", tree, 1, oldest, becomes_root=root is None)


def _top_nodes(workspace: Workspace, *, tree: Tree, root: SummaryNode | None) -> list[SummaryNode]:
    """Sealed nodes with nothing above them but the provisional root, by time."""
    rows = workspace.summaries.filter(
        tree=tree, status=SummaryNode.Status.SEALED, provisional=False
    )
    top = rows.filter(parent=None)
    if root is not None and root.provisional:
        top = top | rows.filter(parent=root)
    return list(top.order_by("time_range_start", "id"))


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
    workspace: Workspace, *, tree: Tree, tops: Sequence[SummaryNode], root: SummaryNode | None
) -> Step | None:
    provisional = root if root is not None and root.provisional else None
    if not tops:
        return Step("retire", tree, 0, (), old=provisional) if provisional else None
    if len(tops) == 1:
        is_root = root is not None and root.id == tops[0].id
        return None if is_root else Step("promote", tree, tops[0].height, tops, old=provisional)
    covered = (
        {child.id for child in live_children(workspace, node=provisional)} if provisional else set()
    )
    is_current = provisional is not None and provisional.status == SummaryNode.Status.SEALED
    if is_current and covered == {node.id for node in tops}:
        return None
    height = max(node.height for node in tops) + 1
    return Step("root", tree, height, tops, old=provisional, becomes_root=True)


def child_key(children: Sequence[Child]) -> list[tuple[UUID, str, str, UUID | None]]:
    """What a plan rests on; the commit compares it with the rows as they are then."""
    return [(child.id, child.body_sha256, child.status, child.parent_id) for child in children]
