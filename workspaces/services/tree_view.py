"""Trees as people look at them: the list, and one tree around a focus."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from holamem.database.scope import reading_scope, workspace_scope
from holamem.errors import NotFound
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree, is_withheld
from workspaces.services.paging import Page, read_page

# Quarantined nodes are drawn as withheld, so that a tree does not seem to lose its middle.
VISIBLE_SUMMARIES = (
    SummaryNode.Status.SEALED,
    SummaryNode.Status.STALE,
    SummaryNode.Status.QUARANTINED,
)
ACTIVE_LEAVES = (SourceLeaf.Status.ACTIVE,)
PAST_LEAVES = (SourceLeaf.Status.SUPERSEDED, SourceLeaf.Status.INACTIVE)
SHOWN_LEAVES = (*ACTIVE_LEAVES, *PAST_LEAVES)
MAX_NODES = 200
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class TreeFilter:
    category: str = ""
    search: str = ""


@dataclass(frozen=True, slots=True)
class TreeRow:
    """`buffered` leaves have no summary above them yet; `owner` is an end user or None."""

    id: UUID
    key: str
    title: str
    category: str
    status: str
    height: int
    leaf_count: int
    updated_at: datetime
    buffered: int
    stale: int
    owner: str | None
    root_id: UUID | None


@dataclass(frozen=True, slots=True)
class BranchNode:
    """A leaf or a summary with its place; `withheld` nodes show neither title nor text."""

    id: UUID
    kind: str
    parent_id: UUID | None
    title: str
    language: str
    status: str
    leaf_count: int
    height: int
    level: int
    start: datetime
    end: datetime
    withheld: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """Three levels of one tree: `nodes` from the top down, `tops` are those without a parent here.

    `buffer` holds the first leaves that wait to be sealed, oldest first; `past` are leaves that
    no longer count and that no summary here covers, the newest first, when they are asked for.
    """

    tree: TreeRow
    above: list[BranchNode]
    tops: list[BranchNode]
    nodes: list[BranchNode]
    buffer: list[BranchNode]
    past: list[BranchNode]
    seal_threshold: int


def list_trees(
    workspace: Workspace, *, scopes: Scopes, wanted: TreeFilter, page: int
) -> Page[TreeRow]:
    """Trees with leaves, by category and title. Four queries."""
    with workspace_scope(workspace, scopes):
        rows = workspace.trees.exclude(status=Tree.Status.EMPTY)
        if wanted.category:
            rows = rows.filter(category=wanted.category)
        if wanted.search:
            rows = rows.filter(Q(title__icontains=wanted.search) | Q(key__icontains=wanted.search))
        found = read_page(rows.order_by("category", "title", "id"), number=page)
        return found.map(lambda trees: _tree_rows(workspace, trees))


def category_counts(workspace: Workspace, *, scopes: Scopes) -> dict[str, int]:
    with workspace_scope(workspace, scopes):
        counts = workspace.trees.exclude(status=Tree.Status.EMPTY).values("category")
        return dict(counts.annotate(count=Count("id")).values_list("category", "count"))


def tree_branch(
    workspace: Workspace,
    *,
    scopes: Scopes,
    tree_id: UUID,
    focus_id: UUID | None,
    with_past: bool = False,
) -> Branch:
    """The tree around one summary, or around its root. Raises NotFound.

    A focus that is not a live summary of this tree is the same as none.
    """
    with reading_scope(workspace, scopes):
        tree = workspace.trees.filter(id=tree_id).first()
        if tree is None:
            raise NotFound("There is no such tree.")
        above, tops = _tops(tree, focus_id=focus_id)
        nodes = _descend(tree, tops, statuses=SHOWN_LEAVES if with_past else ACTIVE_LEAVES)
        buffer = _leaves(tree).filter(parent=None, status=SourceLeaf.Status.ACTIVE)
        return Branch(
            tree=_tree_rows(workspace, [tree])[0],
            above=above,
            tops=tops,
            nodes=nodes,
            buffer=[leaf_node(row) for row in buffer.order_by("observed_at", "id")[:MAX_NODES]],
            past=_past(tree) if with_past else [],
            seal_threshold=workspace.preferences.seal_threshold,
        )


def _tops(tree: Tree, *, focus_id: UUID | None) -> tuple[list[BranchNode], list[BranchNode]]:
    """Breadcrumbs above the drawing, and the summaries that it starts with."""
    focus = _summaries(tree).filter(id=focus_id).first() if focus_id else None
    if focus is None or focus.parent_id is None:
        tops = _summaries(tree).filter(parent=None).order_by("-height", "time_range_start", "id")
        return [], [summary_node(row) for row in tops[:MAX_NODES]]
    path = parents_of(tree.workspace, node_ids=[focus.parent_id])
    return path[:-1], path[-1:] or [summary_node(focus)]


def _past(tree: Tree) -> list[BranchNode]:
    rows = _leaves(tree).filter(parent=None, status__in=PAST_LEAVES)
    return [leaf_node(row) for row in rows.order_by("-observed_at", "-id")[:MAX_NODES]]


def _descend(
    tree: Tree, tops: Sequence[BranchNode], *, statuses: Sequence[str]
) -> list[BranchNode]:
    """Children and grandchildren of the tops: four queries at most."""
    nodes = list(tops)
    parents = [node.id for node in tops]
    for _ in range(2):
        below = _children(tree, parents, statuses=statuses, limit=MAX_NODES - len(nodes))
        nodes += below
        parents = [node.id for node in below if node.kind == "summary"]
    return nodes


def _children(
    tree: Tree, parents: Sequence[UUID], *, statuses: Sequence[str], limit: int
) -> list[BranchNode]:
    if not parents or limit <= 0:
        return []
    summaries = _summaries(tree).filter(parent__in=parents).order_by("time_range_start", "id")
    leaves = (
        _leaves(tree).filter(parent__in=parents, status__in=statuses).order_by("observed_at", "id")
    )
    found = [summary_node(row) for row in summaries[:limit]]
    found += [leaf_node(row) for row in leaves[:limit]]
    return found[:limit]


def parents_of(workspace: Workspace, *, node_ids: Iterable[UUID]) -> list[BranchNode]:
    """These summaries and everything above them, the root first; inside the caller's step."""
    found: dict[UUID, BranchNode] = {}
    wanted = set(node_ids)
    # A tree is as high as the logarithm of its leaves, so the walk is a handful of look-ups.
    while wanted:
        rows = workspace.summaries.filter(id__in=wanted)
        layer = [summary_node(row) for row in rows]
        found.update((node.id, node) for node in layer)
        wanted = {node.parent_id for node in layer if node.parent_id} - found.keys()
    return sorted(found.values(), key=lambda node: (-node.height, node.start))


def _summaries(tree: Tree) -> QuerySet[SummaryNode]:
    return tree.summaries.filter(status__in=VISIBLE_SUMMARIES)


def _leaves(tree: Tree) -> QuerySet[SourceLeaf]:
    return tree.leaves.all()


def summary_node(row: SummaryNode) -> BranchNode:
    return BranchNode(
        id=row.id,
        kind="summary",
        parent_id=row.parent_id,
        title="" if row.withheld else row.title,
        language=row.language,
        status=row.status,
        leaf_count=row.leaf_count,
        height=row.height,
        level=row.level,
        start=row.time_range_start,
        end=row.time_range_end,
        withheld=row.withheld,
    )


def leaf_node(row: SourceLeaf) -> BranchNode:
    withheld = is_withheld(row)
    return BranchNode(
        id=row.id,
        kind="leaf",
        parent_id=row.parent_id,
        title="" if withheld else row.title,
        language=row.language,
        status=row.status,
        leaf_count=1,
        height=0,
        level=0,
        start=row.observed_at,
        end=row.observed_at,
        withheld=withheld,
    )


def _tree_rows(workspace: Workspace, trees: Sequence[Tree]) -> list[TreeRow]:
    ids = [tree.id for tree in trees]
    buffered = _count_by_tree(
        workspace.leaves.filter(tree__in=ids, parent=None, status=SourceLeaf.Status.ACTIVE)
    )
    stale = _count_by_tree(
        workspace.summaries.filter(
            tree__in=ids, status__in=[SummaryNode.Status.STALE, SummaryNode.Status.QUARANTINED]
        )
    )
    owners = owner_names(workspace, scope_ids=[tree.scope_id for tree in trees])
    return [
        TreeRow(
            id=tree.id,
            key=tree.key,
            title=tree.title,
            category=tree.category,
            status=tree.status,
            height=tree.height,
            leaf_count=tree.leaf_count,
            updated_at=tree.updated_at,
            buffered=buffered.get(tree.id, 0),
            stale=stale.get(tree.id, 0),
            owner=owners.get(tree.scope_id),
            root_id=tree.root_id,
        )
        for tree in trees
    ]


def _count_by_tree(rows: QuerySet[SourceLeaf] | QuerySet[SummaryNode]) -> dict[UUID, int]:
    return dict(rows.order_by().values("tree").annotate(n=Count("id")).values_list("tree", "n"))


def owner_names(workspace: Workspace, *, scope_ids: Iterable[UUID]) -> dict[UUID, str]:
    """The end user behind each private scope; shared scopes are not in the answer."""
    return dict(workspace.end_users.filter(id__in=set(scope_ids)).values_list("id", "ref"))
