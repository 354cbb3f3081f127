import pytest

from holamem.text.graphemes import boundary_before, is_boundary


@pytest.mark.parametrize(
    "cluster",
    ["e\u0301", "👨‍👩‍👧‍👦", "🇨🇳", "👍🏽", "❤\ufe0f", "\r\n", "각", "क्षि", "z\u0337\u0322\u035d"],
)
def test_no_cut_falls_inside_a_cluster(cluster: str) -> None:
    text = f"x{cluster}y"
    inside = range(2, 1 + len(cluster))
    assert not any(is_boundary(text, index) for index in inside)
    assert is_boundary(text, 1)
    assert is_boundary(text, 1 + len(cluster))


def test_neighbouring_flags_are_cut_between_pairs() -> None:
    text = "🇨🇳🇺🇸"
    assert [i for i in range(5) if is_boundary(text, i)] == [0, 2, 4]


def test_the_floor_is_returned_when_there_is_no_boundary() -> None:
    assert boundary_before("e" + "\u0301" * 10, 8, floor=3) == 3
    assert boundary_before("abc", 2) == 2
