"""How places of the tree look in an answer of memory_browse, and which rows lie below them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from retrieval.answer import moment
from workspaces.models.log import Category
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree

LIVE_SUMMARIES = (SummaryNode.Status.SEALED, SummaryNode.Status.STALE)
# Below a listed node: enough to look around, not to read a tree.
NESTED_CHILDREN = 20

Section = tuple[QuerySet[Any], Callable[[Any], dict[str, Any]]]


def summaries_of(workspace: Workspace) -> QuerySet[SummaryNode]:
    """Quarantined and retired ones are never shown."""
    live = workspace.summaries.filter(status__in=LIVE_SUMMARIES, withheld=False)
    return live.select_related("tree")


def leaves_of(workspace: Workspace) -> QuerySet[SourceLeaf]:
    active = workspace.leaves.filter(status=SourceLeaf.Status.ACTIVE)
    return active.select_related("tree", "entity")


def category_sections(workspace: Workspace, category: str) -> list[Section]:
    trees = workspace.trees.filter(category=category).exclude(status=Tree.Status.EMPTY)
    return [(trees.order_by("key", "id"), tree_dict)]


def tree_sections(workspace: Workspace, tree: Tree) -> list[Section]:
    """The root or the tops below a missing one, then the leaves that wait to be sealed."""
    tops = summaries_of(workspace).filter(tree=tree, parent=None)
    buffer = leaves_of(workspace).filter(tree=tree, parent=None)
    return [
        (tops.order_by("-height", "time_range_start", "id"), summary_dict),
        (buffer.order_by("observed_at", "id"), leaf_dict),
    ]


def level_sections(workspace: Workspace, tree: Tree, level: int | None) -> list[Section]:
    """Summaries of one level; None is the level of all leaves."""
    if level is None:
        leaves = leaves_of(workspace).filter(tree=tree)
        return [(leaves.order_by("observed_at", "id"), leaf_dict)]
    nodes = summaries_of(workspace).filter(tree=tree, level=level)
    return [(nodes.order_by("time_range_start", "id"), summary_dict)]


def node_sections(workspace: Workspace, node: SummaryNode) -> list[Section]:
    below = summaries_of(workspace).filter(parent=node)
    leaves = leaves_of(workspace).filter(parent=node)
    return [
        (below.order_by("time_range_start", "id"), summary_dict),
        (leaves.order_by("observed_at", "id"), leaf_dict),
    ]


def page_of(sections: Sequence[Section], *, offset: int, limit: int) -> list[dict[str, Any]]:
    """`limit` entries (one more tells that there is a next page) across the sections in order."""
    found: list[dict[str, Any]] = []
    for rows, show in sections:
        wanted = limit - len(found)
        if wanted <= 0:
            break
        here = [show(row) for row in rows[offset : offset + wanted]]
        found += here
        offset = max(0, offset - rows.count()) if offset and not here else 0
    return found


def add_children(workspace: Workspace, entries: list[dict[str, Any]], *, levels: int) -> None:
    """Give summaries and trees among the entries their children, `levels` deep."""
    if levels <= 0:
        return
    below = _children_by_parent(workspace, entries)
    for entry in entries:
        entry["children"] = below.get(UUID(entry["node_id"]), [])[:NESTED_CHILDREN]
    shown = [child for entry in entries for child in entry["children"]]
    if shown:
        add_children(workspace, shown, levels=levels - 1)


def _children_by_parent(
    workspace: Workspace, entries: Iterable[dict[str, Any]]
) -> dict[UUID, list[dict[str, Any]]]:
    summaries = [UUID(entry["node_id"]) for entry in entries if entry["node_kind"] == "summary"]
    trees = [UUID(entry["node_id"]) for entry in entries if entry["node_kind"] == "tree"]
    grouped: dict[UUID, list[dict[str, Any]]] = {}
    for rows, show in (
        (summaries_of(workspace).order_by("time_range_start", "id"), summary_dict),
        (leaves_of(workspace).order_by("observed_at", "id"), leaf_dict),
    ):
        _group(rows.filter(parent__in=summaries), show, grouped, by_tree=False)
        _group(rows.filter(parent=None, tree__in=trees), show, grouped, by_tree=True)
    return grouped


def _group(
    rows: QuerySet[Any],
    show: Callable[[Any], dict[str, Any]],
    grouped: dict[UUID, list[dict[str, Any]]],
    *,
    by_tree: bool,
) -> None:
    for row in rows[: NESTED_CHILDREN * 100]:
        parent = row.tree_id if by_tree else row.parent_id
        grouped.setdefault(parent, []).append(show(row))


def category_dict(category: str, *, trees: int) -> dict[str, Any]:
    return {
        "node_id": None,
        "node_kind": "category",
        "path": category,
        "title": Category(category).label,
        "category": category,
        "children_count": trees,
    }


def tree_dict(tree: Tree) -> dict[str, Any]:
    return {
        "node_id": str(tree.id),
        "node_kind": "tree",
        "path": f"{tree.category}/{tree.key}",
        "title": tree.title,
        "category": tree.category,
        "tree_id": str(tree.id),
        "tree_key": tree.key,
        "scope_id": str(tree.scope_id),
        "status": tree.status,
        "level": 0,
        "height": tree.height,
        "leaf_count": tree.leaf_count,
        "root_id": str(tree.root_id) if tree.root_id else None,
        "updated_at": moment(tree.updated_at),
    }


def summary_dict(node: SummaryNode) -> dict[str, Any]:
    return {
        **_common(node, kind="summary"),
        "path": f"{node.category}/{node.tree.key}/L{node.level}",
        "level": node.level,
        "height": node.height,
        "leaf_count": node.leaf_count,
        "children_count": len(node.child_ids),
        "time_range": {"from": moment(node.time_range_start), "to": moment(node.time_range_end)},
        "stale": node.status == SummaryNode.Status.STALE,
        "provisional": node.provisional,
        "sealed_at": moment(node.sealed_at),
    }


def leaf_dict(leaf: SourceLeaf) -> dict[str, Any]:
    return {
        **_common(leaf, kind="leaf"),
        "path": f"{leaf.category}/{leaf.tree.key}/leaves",
        "level": None,
        "height": 0,
        "leaf_count": 1,
        "children_count": 0,
        "time_range": {"from": moment(leaf.observed_at), "to": moment(leaf.observed_at)},
        "stale": False,
        "observed_at": moment(leaf.observed_at),
        "valid_until": moment(leaf.valid_until),
        "confidence": leaf.confidence,
        "entity": leaf.entity.name if leaf.entity else None,
        "verification_policy": leaf.verification_policy,
    }


def _common(row: SourceLeaf | SummaryNode, *, kind: str) -> dict[str, Any]:
    return {
        "node_id": str(row.id),
        "node_kind": kind,
        "title": row.title,
        "summary": row.summary,
        "category": row.category,
        "tree_id": str(row.tree_id),
        "tree_key": row.tree.key,
        "scope_id": str(row.scope_id),
        "status": row.status,
        "labels": list(row.labels),
        "language": row.language,
        "parent_id": str(row.parent_id) if row.parent_id else None,
    }
