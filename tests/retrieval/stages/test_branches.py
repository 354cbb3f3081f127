from datetime import UTC, datetime
from uuid import UUID, uuid5

from retrieval.stages.branches import SESSION_CAP, choose_exact, widen_tail
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


def test_one_session_does_not_fill_the_later_half() -> None:
    talk = [node(f"talk {n}", session_ref="talk") for n in range(8)]
    others = [node(f"other {n}", session_ref=f"other {n}") for n in range(2)]

    found = kept([*talk, *others])

    assert found[: LIMIT // 2] == ids("talk 0", "talk 1", "talk 2")
    assert found[LIMIT // 2 :] == ids("other 0", "other 1", "talk 3")


def test_the_best_leaves_keep_their_places_whatever_their_session() -> None:
    best = [node(f"best {n}", session_ref="one") for n in range(LIMIT // 2)]
    assert len(best) > SESSION_CAP

    assert kept([*best, node("other", session_ref="two")])[: len(best)] == ids(
        "best 0", "best 1", "best 2"
    )


def test_leaves_without_a_session_are_no_session_together() -> None:
    found = [node(f"leaf {n}") for n in range(LIMIT)]

    assert kept(found) == [item.node_id for item in found]
