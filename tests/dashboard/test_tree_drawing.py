"""The layout of a tree is a pure function of its nodes."""

from datetime import UTC, datetime, timedelta
from itertools import combinations
from uuid import UUID, uuid4

from workspaces.dashboard.tree_drawing import (
    NODE_HEIGHT,
    NODE_WIDTH,
    cut_title,
    draw_tree,
    own_words,
)
from workspaces.services.tree_view import BranchNode

START = datetime(2026, 3, 1, tzinfo=UTC)


def node(
    parent: UUID | None = None, *, day: int = 0, kind: str = "leaf", **values: str
) -> BranchNode:
    at = START + timedelta(days=day)
    return BranchNode(
        id=uuid4(), kind=kind, parent_id=parent, title=values.get("title", f"Node {day}"),
        language="en", status=values.get("status", "active"), leaf_count=1, height=0, level=0,
        start=at, end=at,
    )  # fmt: skip


def family(children: int) -> list[BranchNode]:
    root = node(kind="summary", status="sealed")
    return [root, *(node(root.id, day=day) for day in range(children))]


def draw(nodes: list[BranchNode], **values):  # type: ignore[no-untyped-def]
    defaults = {
        "subject": "",
        "tops": nodes[:1],
        "nodes": nodes,
        "buffer": [],
        "buffered": 0,
        "seal_threshold": 8,
    }
    return draw_tree(**{**defaults, **values})


def test_no_two_boxes_overlap_and_all_lie_inside() -> None:
    drawing = draw(family(8), buffer=[node(day=20), node(day=21)], buffered=2)
    for one, two in combinations(drawing.nodes, 2):
        apart_x = abs(one.x - two.x) >= NODE_WIDTH
        apart_y = abs(one.y - two.y) >= NODE_HEIGHT
        assert apart_x or apart_y
    assert all(item.x + NODE_WIDTH <= drawing.width for item in drawing.nodes)
    assert all(item.y + NODE_HEIGHT <= drawing.height for item in drawing.nodes)


def test_the_root_is_at_the_left_and_time_runs_downward() -> None:
    nodes = family(5)
    drawing = draw([nodes[0], *reversed(nodes[1:])])
    below = [item for item in drawing.nodes if item.node.kind == "leaf"]
    assert all(item.x > drawing.nodes[0].x for item in below)
    assert [item.node.start for item in below] == sorted(item.node.start for item in below)
    assert [item.y for item in below] == sorted(item.y for item in below)


def test_more_than_forty_siblings_are_counted_with_their_time() -> None:
    drawing = draw(family(352))
    assert len(drawing.nodes) == 41
    assert [more.count for more in drawing.more] == [312]
    assert drawing.more[0].start == START + timedelta(days=40)


def test_the_buffer_stands_in_a_bracketed_lane_without_lines() -> None:
    drawing = draw([], tops=[], buffer=[node(day=1), node(day=2)], buffered=5)
    assert drawing.lane is not None
    assert (drawing.lane.count, drawing.lane.threshold) == (5, 8)
    assert drawing.lines == []


def test_the_path_to_the_selected_node_is_marked() -> None:
    nodes = family(3)
    drawing = draw(nodes, selected=nodes[2].id)
    assert [line.is_path for line in drawing.lines] == [False, True, False]
    assert [item.is_selected for item in drawing.nodes] == [False, False, True, False]


def test_a_summary_whose_children_are_not_drawn_can_be_opened() -> None:
    root = node(kind="summary", status="sealed")
    child = node(root.id, kind="summary", status="stale")
    assert [item.focusable for item in draw([root, child]).nodes] == [False, True]


def test_a_title_is_cut_by_width_not_by_characters() -> None:
    assert cut_title("x" * 24) == "x" * 24
    assert cut_title("x" * 25) == "x" * 24 + "…"
    assert cut_title("网" * 12) == "网" * 12
    assert cut_title("网" * 13) == "网" * 12 + "…"


def test_nothing_gives_an_empty_drawing() -> None:
    drawing = draw([], tops=[])
    assert (drawing.nodes, drawing.lines, drawing.lane) == ([], [], None)


def test_a_box_does_not_repeat_the_name_of_its_tree() -> None:
    assert (
        own_words("The Atlas gateway listens on 8443", subject="Atlas gateway") == "listens on 8443"
    )
    assert own_words("Atlas gateway: port, tls", subject="Atlas gateway") == "port, tls"
    assert own_words("支付网关的生产端口是 9443", subject="支付网关") == "生产端口是 9443"
    assert own_words("Nobody deploys the Atlas gateway", subject="Atlas gateway").startswith(
        "Nobody"
    )
    assert own_words("Atlas gateway", subject="Atlas gateway") == "Atlas gateway"
    assert own_words("What is (this", subject="(") == "What is (this"
