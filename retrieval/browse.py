"""memory_browse: one place in the tree, with what is above and below it."""

import re
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.core import signing
from django.db.models import Count

from holamem.database.scope import reading_scope
from holamem.errors import HolamemError, InvalidInput, NotFound
from retrieval import browse_nodes as nodes
from retrieval.definitions import BrowseRequest
from retrieval.types import Scopes
from workspaces.bodies import read_markdown
from workspaces.models.log import Category
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import GONE_LEAVES, SourceLeaf, SummaryNode, Tree

MAX_HISTORY = 50
MAX_PARENTS = 20  # a tree of 8^20 leaves has no more

_LEVEL = re.compile(r"L(?P<level>[1-9]\d{0,2})|leaves", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BrowseAnswer:
    """`node` is None at the top; `parents` start at the root; `next_cursor` goes on below."""

    node: dict[str, Any] | None
    parents: list[dict[str, Any]]
    children: list[dict[str, Any]]
    next_cursor: str | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Place:
    """A place that was found, and what lies below it."""

    node: dict[str, Any] | None
    parents: list[dict[str, Any]]
    sections: list[nodes.Section]


def browse(workspace: Workspace, *, scopes: Scopes, request: BrowseRequest) -> BrowseAnswer:
    """Raises NotFound for a place that is not there, InvalidInput for a foreign cursor."""
    offset = _offset(workspace, request)
    with reading_scope(workspace, scopes):
        place = _find(workspace, request)
        found = nodes.page_of(place.sections, offset=offset, limit=request.limit + 1)
        children = found[: request.limit]
        if place.node is None:
            children = _categories(workspace)
        else:
            nodes.add_children(workspace, children, levels=request.depth - 1)
    has_next = len(found) > request.limit
    return BrowseAnswer(
        node=_with_body(place.node),
        parents=place.parents,
        children=children,
        next_cursor=_cursor(workspace, request, offset + request.limit) if has_next else None,
    )


def _find(workspace: Workspace, request: BrowseRequest) -> _Place:
    if request.node_id is not None:
        return _by_id(workspace, request.node_id)
    path = (request.path or "").strip().strip("/")
    if not path:
        return _Place(None, [], [])
    category, _, rest = path.partition("/")
    if category not in Category.values:
        raise NotFound("There is no such place in memory.")
    if not rest:
        return _category(workspace, category)
    return _tree_path(workspace, category=category, rest=rest)


def _categories(workspace: Workspace) -> list[dict[str, Any]]:
    rows = workspace.trees.exclude(status=Tree.Status.EMPTY).values("category").order_by()
    counts = dict(rows.annotate(n=Count("id")).values_list("category", "n"))
    return [nodes.category_dict(name, trees=counts.get(name, 0)) for name in Category.values]


def _category(workspace: Workspace, category: str) -> _Place:
    trees = workspace.trees.filter(category=category).exclude(status=Tree.Status.EMPTY)
    return _Place(
        nodes.category_dict(category, trees=trees.count()),
        [],
        nodes.category_sections(workspace, category),
    )


def _tree_path(workspace: Workspace, *, category: str, rest: str) -> _Place:
    """Keys of integration trees may hold a slash, so the level is looked for at the end only."""
    key, _, last = rest.rpartition("/")
    level = _LEVEL.fullmatch(last) if key else None
    tree = _tree(workspace, category=category, key=key if level else rest)
    if level is None:
        return _Place(nodes.tree_dict(tree), [], nodes.tree_sections(workspace, tree))
    number = int(level["level"]) if level["level"] else None
    return _Place(nodes.tree_dict(tree), [], nodes.level_sections(workspace, tree, number))


def _tree(workspace: Workspace, *, category: str, key: str) -> Tree:
    """An end user's own tree comes before the shared one of the same key."""
    found = list(workspace.trees.filter(category=category, key=key).order_by("id")[:50])
    if not found:
        raise NotFound("There is no such place in memory.")
    private = [tree for tree in found if tree.scope_id != workspace.pk]
    return (private or found)[0]


def _by_id(workspace: Workspace, node_id: UUID) -> _Place:
    leaf = (
        workspace.leaves.select_related("tree", "entity")
        .filter(id=node_id, forgotten_at=None)
        .exclude(status__in=GONE_LEAVES)
        .first()
    )
    if leaf is not None:
        return _Place(_leaf(workspace, leaf), _parents(workspace, leaf), [])
    node = nodes.summaries_of(workspace).filter(id=node_id).first()
    if node is not None:
        shown = {**nodes.summary_dict(node), **_body_of(node)}
        return _Place(shown, _parents(workspace, node), nodes.node_sections(workspace, node))
    tree = workspace.trees.filter(id=node_id).first()
    if tree is not None:
        return _Place(nodes.tree_dict(tree), [], nodes.tree_sections(workspace, tree))
    raise NotFound("There is no such node.")


def _parents(workspace: Workspace, row: SourceLeaf | SummaryNode) -> list[dict[str, Any]]:
    """From the root down. A walk of one look-up a level, and a tree has few levels."""
    found: list[dict[str, Any]] = []
    parent_id = row.parent_id
    while parent_id is not None and len(found) < MAX_PARENTS:
        parent = nodes.summaries_of(workspace).filter(id=parent_id).first()
        if parent is None:
            break
        found.insert(0, nodes.summary_dict(parent))
        parent_id = parent.parent_id
    return found


def _leaf(workspace: Workspace, leaf: SourceLeaf) -> dict[str, Any]:
    return {
        **nodes.leaf_dict(leaf),
        **_body_of(leaf),
        "history": _history(workspace, leaf),
    }


def _history(workspace: Workspace, leaf: SourceLeaf) -> list[dict[str, Any]]:
    """All versions of the subject that this leaf is one of, newest first; itself when alone."""
    found = {leaf.id: leaf}
    wanted = {leaf.id}
    # Chains never fork and are short; each round takes the next link in both directions.
    while wanted and len(found) < MAX_HISTORY:
        linked = {link for key in wanted for link in _links(found[key])}
        rows = workspace.leaves.select_related("tree", "entity").filter(forgotten_at=None)
        rows = rows.exclude(status__in=GONE_LEAVES)
        near = rows.filter(id__in=linked) | rows.filter(supersedes_leaf__in=wanted)
        near = near | rows.filter(superseded_by__in=wanted)
        fresh = {row.id: row for row in near[:MAX_HISTORY] if row.id not in found}
        found.update(fresh)
        wanted = set(fresh)
    versions = sorted(found.values(), key=lambda row: (row.observed_at, row.id), reverse=True)
    return [
        {
            **nodes.leaf_dict(row),
            "supersedes_leaf_id": _text(row.supersedes_leaf_id),
            "superseded_by": _text(row.superseded_by_id),
        }
        for row in versions
    ]


def _links(leaf: SourceLeaf) -> set[UUID]:
    return {link for link in (leaf.supersedes_leaf_id, leaf.superseded_by_id) if link is not None}


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def _body_of(row: SourceLeaf | SummaryNode) -> dict[str, Any]:
    return {"body_path": row.body_path, "body_sha256": row.body_sha256}


def _with_body(node: dict[str, Any] | None) -> dict[str, Any] | None:
    """Read after the database step. A body that cannot be read shows its problem instead."""
    if node is None or "body_path" not in node:
        return node
    try:
        body = read_markdown(node["body_path"], sha256=node["body_sha256"])
        return {**node, "body": body, "body_problem": ""}
    except HolamemError as error:
        return {**node, "body": None, "body_problem": error.code}


def _salt(workspace: Workspace, request: BrowseRequest) -> str:
    """A cursor belongs to one place of one workspace."""
    return f"browse:{workspace.pk}:{request.path}:{request.node_id}"


def _cursor(workspace: Workspace, request: BrowseRequest, offset: int) -> str:
    return signing.dumps(offset, salt=_salt(workspace, request))


def _offset(workspace: Workspace, request: BrowseRequest) -> int:
    if request.cursor is None:
        return 0
    try:
        return int(signing.loads(request.cursor, salt=_salt(workspace, request)))
    except signing.BadSignature as error:
        raise InvalidInput("The cursor is not of this place.", field="cursor") from error
