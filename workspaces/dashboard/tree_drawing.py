"""The layout of a drawn tree: root at the left, one level per column, time downward.

Pure: nodes in, coordinates in pixels out. A parent stands on the row of its first child, so that
the root is in view however long the tree is.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from workspaces.dashboard.words import Chip, chip_for
from workspaces.services.tree_view import BranchNode

COLUMN = 260
ROW = 28
NODE_WIDTH = 220
NODE_HEIGHT = 24
SHORTEST_REST = 4
MARGIN = 12
TITLE_CELLS = 24  # 24 Latin or 12 Han characters
MAX_SIBLINGS = 40


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """`x` and `y` are the corner of the box; `focusable` nodes have children that are not drawn."""

    node: BranchNode
    x: int
    y: int
    title: str
    chip: Chip
    is_selected: bool
    focusable: bool

    @property
    def text_y(self) -> int:
        return self.y + 16

    @property
    def glyph_x(self) -> int:
        return self.x + 8

    @property
    def title_x(self) -> int:
        return self.x + 26

    @property
    def count_x(self) -> int:
        return self.x + NODE_WIDTH - 8

    @property
    def focus_x(self) -> int:
        return self.x + NODE_WIDTH + 6


@dataclass(frozen=True, slots=True)
class Line:
    path: str
    is_path: bool


@dataclass(frozen=True, slots=True)
class More:
    """Siblings that are not drawn, with the time they cover."""

    x: int
    y: int
    count: int
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Lane:
    """The bracket around the buffer, and where its label stands."""

    x: int
    y: int
    path: str
    count: int
    threshold: int


@dataclass(frozen=True, slots=True)
class Drawing:
    width: int
    height: int
    nodes: list[DrawnNode]
    lines: list[Line]
    more: list[More]
    lane: Lane | None


@dataclass(slots=True)
class _Canvas:
    subject: str
    children: dict[UUID, list[BranchNode]]
    on_path: set[UUID]
    selected: UUID | None
    nodes: list[DrawnNode]
    lines: list[Line]
    more: list[More]
    depth: int = 0

    def place(self, node: BranchNode, depth: int, row: int) -> int:
        """Draw the node and all below it from this row on; returns the next free row."""
        self.depth = max(self.depth, depth)
        self.nodes.append(self._box(node, depth, row))
        below = self.children.get(node.id, [])
        if not below:
            return row + 1
        return self.place_all(below, depth + 1, row, parent=(depth, row))

    def place_all(
        self,
        nodes: Sequence[BranchNode],
        depth: int,
        row: int,
        *,
        parent: tuple[int, int] | None = None,
    ) -> int:
        for node in nodes[:MAX_SIBLINGS]:
            if parent is not None:
                self.lines.append(_elbow(parent, (depth, row), node.id in self.on_path))
            row = self.place(node, depth, row)
        hidden = nodes[MAX_SIBLINGS:]
        if hidden:
            self.more.append(_more(hidden, depth, row))
            row += 1
        return row

    def _box(self, node: BranchNode, depth: int, row: int) -> DrawnNode:
        return DrawnNode(
            node=node,
            x=_x(depth),
            y=_y(row),
            title=cut_title(own_words(node.title, subject=self.subject)),
            chip=chip_for(node.status),
            is_selected=node.id == self.selected,
            focusable=node.kind == "summary" and node.id not in self.children,
        )


def draw_tree(
    *,
    subject: str,
    tops: Sequence[BranchNode],
    nodes: Sequence[BranchNode],
    buffer: Sequence[BranchNode],
    buffered: int,
    seal_threshold: int,
    selected: UUID | None = None,
) -> Drawing:
    """`subject` is the tree's title, which its nodes need not repeat. `nodes` holds the tops and what is below them; `buffered` may exceed what `buffer` lists."""
    canvas = _Canvas(
        subject=subject,
        children=children_of(nodes),
        on_path=_path_to(selected, nodes),
        selected=selected,
        nodes=[],
        lines=[],
        more=[],
    )
    row = canvas.place_all(tops, 0, 0)
    lane = None
    if buffer:
        lane, row = _place_buffer(canvas, buffer, row, buffered, seal_threshold)
    return Drawing(
        width=MARGIN * 2 + canvas.depth * COLUMN + NODE_WIDTH + 24,
        height=_y(row) + MARGIN,
        nodes=canvas.nodes,
        lines=canvas.lines,
        more=canvas.more,
        lane=lane,
    )


def children_of(nodes: Iterable[BranchNode]) -> dict[UUID, list[BranchNode]]:
    """Children by parent, in order of time."""
    children: dict[UUID, list[BranchNode]] = defaultdict(list)
    for node in nodes:
        if node.parent_id is not None:
            children[node.parent_id].append(node)
    for below in children.values():
        below.sort(key=lambda node: (node.start, node.id))
    return dict(children)


def own_words(title: str, *, subject: str) -> str:
    """The title without the tree's own name in front: few characters fit, and those repeat."""
    if not subject:
        return title
    name = rf"(?:the\s+)?{re.escape(subject)}(?:['’]s\b)?[\s:：,，的]*"
    rest = re.sub(rf"\A{name}", "", title, flags=re.IGNORECASE)
    return rest if len(rest) >= SHORTEST_REST else title


def cut_title(title: str) -> str:
    """At most TITLE_CELLS cells wide, a Han character counting two."""
    used = 0
    for index, character in enumerate(title):
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > TITLE_CELLS:
            return title[:index].rstrip() + "…"
    return title


def _place_buffer(
    canvas: _Canvas, buffer: Sequence[BranchNode], row: int, buffered: int, threshold: int
) -> tuple[Lane, int]:
    depth = canvas.depth
    label = row + 1 if canvas.nodes else row
    end = canvas.place_all(buffer, depth, label + 1)
    left, top, bottom = _x(depth) - 4, _y(label), _y(end) - (ROW - NODE_HEIGHT)
    bracket = f"M{left + 6} {top}H{left}V{bottom}H{left + 6}"
    return Lane(_x(depth) + 6, top + 16, bracket, buffered, threshold), end


def _path_to(selected: UUID | None, nodes: Sequence[BranchNode]) -> set[UUID]:
    parents = {node.id: node.parent_id for node in nodes}
    path: set[UUID] = set()
    step = selected
    while step is not None and step in parents and step not in path:
        path.add(step)
        step = parents[step]
    return path


def _more(hidden: Sequence[BranchNode], depth: int, row: int) -> More:
    start = min(node.start for node in hidden)
    end = max(node.end for node in hidden)
    return More(_x(depth) + 8, _y(row) + 16, len(hidden), start, end)


def _elbow(parent: tuple[int, int], child: tuple[int, int], is_path: bool) -> Line:
    x1, y1 = _x(parent[0]) + NODE_WIDTH, _y(parent[1]) + NODE_HEIGHT // 2
    x2, y2 = _x(child[0]), _y(child[1]) + NODE_HEIGHT // 2
    middle = (x1 + x2) // 2
    path = f"M{x1} {y1}H{x2}" if y1 == y2 else f"M{x1} {y1}H{middle}V{y2}H{x2}"
    return Line(path, is_path)


def _x(depth: int) -> int:
    return MARGIN + depth * COLUMN


def _y(row: int) -> int:
    return MARGIN + row * ROW
