from datetime import UTC, datetime
from uuid import UUID, uuid5

from retrieval.stages.branches import (
    cap_sources,
    choose_broad,
    choose_exact,
    drop_duplicates,
    drop_unrelated,
    widen_tail,
)
from retrieval.types import Ranked
from tests.retrieval.stages.test_fuse import node
from workspaces.index.search import FoundNode

NOW = datetime(2026, 5, 22, tzinfo=UTC)
SPACE = UUID(int=7)
LIMIT = 6


def kept(nodes: list[FoundNode]) -> list[UUID]:
    ranked = [
        Ranked(item.node_id, "leaf", 1 / place, (0.0,), (None,), ())
        for place, item in enumerate(nodes, 1)
    ]
    widened = widen_tail(ranked, nodes=nodes, limit=LIMIT)
    chosen = choose_exact(widened, limit=LIMIT, prefer_leaves=True)
    return [item.node_id for item in chosen if not item.dropped]


def ids(*names: str) -> list[UUID]:
    return [uuid5(SPACE, name) for name in names]


def test_one_session_does_not_fill_the_later_places() -> None:
    talk = [node(f"talk {n}", session_ref="talk") for n in range(8)]
    others = [node(f"other {n}", session_ref=f"other {n}") for n in range(2)]

    found = kept([*talk, *others])

    assert found[:4] == ids("talk 0", "talk 1", "talk 2", "talk 3")
    assert found[4:] == ids("other 0", "other 1")


def test_a_later_place_goes_to_a_session_once_and_then_to_what_is_left() -> None:
    head = [node(f"head {n}", session_ref="one") for n in range(4)]
    rest = [node("same", session_ref="one"), node("new", session_ref="two")]

    assert kept([*head, *rest])[4:] == ids("new", "same")


def test_a_session_with_more_to_say_takes_the_place() -> None:
    head = [node(f"head {n}", session_ref="one") for n in range(5)]
    alone = node("alone", session_ref="two")
    several = [node(f"several {n}", session_ref="three") for n in range(3)]

    ranked = [
        Ranked(item.node_id, "leaf", score, (0.0,), (None,), ())
        for item, score in zip(
            [*head, alone, *several], [9, 9, 9, 9, 9, 1.0, 0.95, 0.9, 0.9], strict=True
        )
    ]
    widened = widen_tail(ranked, nodes=[*head, alone, *several], limit=8)

    assert [item.node_id for item in widened[5:7]] == ids("several 0", "alone")


def test_leaves_without_a_session_are_no_session_together() -> None:
    found = [node(f"leaf {n}") for n in range(LIMIT)]

    assert kept(found) == [item.node_id for item in found]


def test_a_leaf_for_which_nothing_speaks_is_no_evidence() -> None:
    def leaf(name: str, score: float, **parts: float) -> Ranked:
        return Ranked(uuid5(SPACE, name), "leaf", score, (0.0,), (None,), (), parts)

    words = leaf("words", 0.4, lexical=0.2)
    meaning = leaf("meaning", 0.4, vector=0.2)
    near = leaf("near", 0.4, session=0.3, neighbour=0.1, vector=-0.1)
    negative = leaf("negative", -0.2, vector=0.1)

    found = drop_unrelated([words, meaning, near, negative])

    assert [item.dropped for item in found] == ["", "", "unrelated", "unrelated"]


def test_one_event_does_not_fill_the_list_before_others() -> None:
    long_text, short = UUID(int=1), UUID(int=2)
    chunks = [node(f"chunk {n}", event_id=long_text) for n in range(5)]
    other = node("other", event_id=short)
    ranked = [
        Ranked(item.node_id, "leaf", 1 / place, (0.0,), (None,), ())
        for place, item in enumerate([*chunks, other], 1)
    ]

    capped = cap_sources(ranked, nodes=[*chunks, other], limit=LIMIT)

    expected = ids("chunk 0", "chunk 1", "chunk 2", "other", "chunk 3", "chunk 4")
    assert [item.node_id for item in capped] == expected


def test_a_strong_leaf_outside_the_branches_is_kept_and_their_number_is_capped() -> None:
    inside = [node(f"inside {n}", parent_id=SPACE) for n in range(6)]
    outside = [node(f"outside {n}", parent_id=UUID(int=9)) for n in range(6)]
    ranked = [
        Ranked(item.node_id, "leaf", 20.0 - place, (0.0,), (None,), ())
        for place, item in enumerate([*outside, *inside])
    ]
    opened = {item.node_id: item for item in ranked[6:]}

    chosen = choose_broad(ranked, nodes=[*outside, *inside], opened=opened, limit=LIMIT)

    kept_ids = [item.node_id for item in chosen if not item.dropped]
    assert kept_ids[:2] == ids("outside 0", "outside 1")
    assert set(kept_ids[2:]) == set(ids("inside 0", "inside 1", "inside 2", "inside 3"))
    assert {item.dropped for item in chosen if item.node_id in ids("outside 2", "outside 5")} == {
        "outside_branch"
    }


def test_the_same_text_in_two_trees_is_shown_where_it_ranks_best() -> None:
    nodes = [node("first", fingerprint="same"), node("second", fingerprint="same"), node("third")]
    ranked = [Ranked(item.node_id, "leaf", 1.0, (0.0,), (None,), ()) for item in nodes]

    found = drop_duplicates(ranked, nodes=nodes)

    assert [item.dropped for item in found] == ["", "duplicate", ""]
