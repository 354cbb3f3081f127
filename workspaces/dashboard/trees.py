"""Pages: all trees, one tree, one node."""

import difflib
import re
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from workspaces.dashboard.leaf_forms import Typed, editing_of
from workspaces.dashboard.page import (
    Place,
    page_number,
    query_without_page,
    render_page,
    workspace_page,
)
from workspaces.dashboard.tree_drawing import children_of, draw_tree
from workspaces.models.log import Category
from workspaces.models.trees import GONE_LEAVES
from workspaces.rendering import render_markdown
from workspaces.services.erasure.receipts import Receipt, receipts_of_leaf
from workspaces.services.node_view import NodeView, node_view
from workspaces.services.tree_view import (
    Branch,
    BranchNode,
    TreeFilter,
    category_counts,
    list_trees,
    tree_branch,
)

MAX_DIFF_WORDS = 2_000  # the comparison takes time that grows with the square
_WORD = re.compile(r"\s+|[^\W\u3400-\u9fff]+|.", re.DOTALL)


@workspace_page
def tree_list(request: HttpRequest, place: Place) -> HttpResponse:
    category = request.GET.get("category", "")
    wanted = TreeFilter(
        category=category if category in Category.values else "",
        search=request.GET.get("q", "").replace("\x00", "").strip()[:200],
    )
    trees = list_trees(
        place.workspace, scopes=place.scopes, wanted=wanted, page=page_number(request)
    )
    return render_page(
        request,
        "dashboard/trees.html",
        place,
        section="trees",
        trees=trees,
        wanted=wanted,
        categories=Category.values,
        counts=category_counts(place.workspace, scopes=place.scopes),
        query=query_without_page(request),
    )


@workspace_page
def tree(request: HttpRequest, place: Place, tree_id: UUID) -> HttpResponse:
    focus = _uuid(request.GET.get("focus", ""))
    with_past = request.GET.get("past") == "yes"
    branch = tree_branch(
        place.workspace,
        scopes=place.scopes,
        tree_id=tree_id,
        focus_id=focus,
        with_past=with_past,
    )
    drawing = draw_tree(
        subject=branch.tree.title,
        tops=branch.tops,
        nodes=branch.nodes,
        buffer=branch.buffer,
        buffered=branch.tree.buffered,
        seal_threshold=branch.seal_threshold,
        selected=focus,
    )
    return render_page(
        request,
        "dashboard/tree.html",
        place,
        section="trees",
        branch=branch,
        drawing=drawing,
        outline=outline_of(branch),
        with_past=with_past,
        focus=focus,
    )


@dataclass(frozen=True, slots=True)
class OutlineItem:
    node: BranchNode
    below: list["OutlineItem"]


def outline_of(branch: Branch) -> list[OutlineItem]:
    children = children_of(branch.nodes)

    def item(node: BranchNode) -> OutlineItem:
        return OutlineItem(node, [item(child) for child in children.get(node.id, [])])

    return [item(node) for node in branch.tops]


@workspace_page
def node(request: HttpRequest, place: Place, node_id: UUID) -> HttpResponse:
    return show_node(request, place, node_id)


def show_node(
    request: HttpRequest,
    place: Place,
    node_id: UUID,
    *,
    typed: Typed | None = None,
) -> HttpResponse:
    """`typed` is what a person wrote into a form of this page that was refused."""
    view = node_view(place.workspace, scopes=place.scopes, node_id=node_id)
    citations = {
        str(child.id): place.address("dashboard_node", child.id) for child in view.children
    }
    body = None if view.body is None else render_markdown(view.body, citations=citations)
    return render_page(
        request,
        "dashboard/node.html",
        place,
        section="trees",
        view=view,
        body=body,
        changes=_changes(view),
        editing=editing_of(place, view, typed=typed),
        receipts=_receipts(place, view),
    )


def _receipts(place: Place, view: NodeView) -> list[Receipt]:
    """Of a leaf that is going or gone."""
    if view.node.status not in GONE_LEAVES:
        return []
    return receipts_of_leaf(place.workspace, scopes=place.scopes, leaf_id=view.node.id)


@dataclass(frozen=True, slots=True)
class Change:
    """`kind` is same, ins or del."""

    kind: str
    text: str


def _changes(view: NodeView) -> list[Change]:
    if view.previous_body is None or view.body is None:
        return []
    return word_changes(view.previous_body, view.body)


def word_changes(before: str, after: str) -> list[Change]:
    """What to strike and what to underline to read the new text in the old; Han by character."""
    old, new = _WORD.findall(before)[:MAX_DIFF_WORDS], _WORD.findall(after)[:MAX_DIFF_WORDS]
    changes: list[Change] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag == "equal":
            changes.append(Change("same", "".join(old[i1:i2])))
            continue
        if i2 > i1:
            changes.append(Change("del", "".join(old[i1:i2])))
        if j2 > j1:
            changes.append(Change("ins", "".join(new[j1:j2])))
    return changes


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
