from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from retrieval.stages.candidates import Candidates
from retrieval.stages.fuse import fuse, idf
from retrieval.stages.intent import build_intent, read_query
from retrieval.types import Anchor, EntityMatch, Intent, Lookups, Ranked
from workspaces.index.search import Found, FoundNode

NOW = datetime(2026, 5, 22, tzinfo=UTC)
SPACE = UUID(int=7)


def node(
    name: str, *, counts: tuple[int, ...] = (0,), cosine: float | None = 0.8, **values: Any
) -> FoundNode:
    fields: dict[str, Any] = {
        "kind": "leaf",
        "tree_id": SPACE,
        "category": "interaction",
        "parent_id": None,
        "status": "active",
        "start": NOW,
        "end": NOW,
        "created_at": NOW,
        "valid_until": None,
        "length": 10,
        "entity_ids": (),
        "actor": "",
        "session_ref": "",
        "confidence": 1.0,
        "fingerprint": name,
        "height": 0,
        "event_id": None,
        "previous_event_id": None,
        "next_event_id": None,
    }
    return FoundNode(
        node_id=uuid5(SPACE, name), term_counts=counts, cosines=(cosine,), **{**fields, **values}
    )


def order(query: str, nodes: list[FoundNode], **values: Any) -> list[UUID]:
    return [item.node_id for item in ranked(query, nodes, **values)]


def ranked(
    query: str,
    nodes: list[FoundNode],
    *,
    entities: tuple[EntityMatch, ...] = (),
    as_of: datetime | None = None,
) -> list[Ranked]:
    reading = read_query(query, mode="auto", explicit=None, anchor=Anchor(NOW, UTC))  # type: ignore[arg-type]
    intent: Intent = build_intent(reading, categories=None, known=Lookups(entities=entities))
    terms = reading.questions[0].terms
    padded = [
        node if len(node.term_counts) == len(terms) else _padded(node, len(terms)) for node in nodes
    ]
    found = Found(tuple(padded), 100, False, 10.0, tuple(5 for _ in terms))
    candidates = Candidates(found, terms, reading.questions, ((0.0,),), "", ())
    return fuse(candidates, intent=intent, query=query, as_of=as_of)


def _padded(item: FoundNode, count: int) -> FoundNode:
    from dataclasses import replace

    return replace(item, term_counts=(item.term_counts + (0,) * count)[:count])


def test_no_candidates_give_no_ranking() -> None:
    assert order("Which port?", []) == []


def test_words_and_vectors_add_up() -> None:
    both = node("both", counts=(1,), cosine=0.9)
    words = node("words", counts=(1,), cosine=0.8)
    vectors = node("vectors", counts=(0,), cosine=0.9)

    result = ranked("Which port?", [words, vectors, both])

    assert result[0].node_id == both.node_id
    assert {"lexical", "vector"} <= set(result[0].reasons)


def test_a_node_without_a_vector_still_ranks_by_its_words() -> None:
    pending = node("pending", counts=(2,), cosine=None)
    other = node("other", counts=(0,), cosine=0.8)
    third = node("third", counts=(0,), cosine=0.79)

    assert order("Which port?", [other, third, pending])[0] == pending.node_id


def test_equal_scores_are_ordered_by_id() -> None:
    nodes = [node(name) for name in "abcdef"]

    assert order("Which port?", nodes) == sorted(item.node_id for item in nodes)


def test_the_turn_after_a_match_is_lifted() -> None:
    event, following = UUID(int=1), UUID(int=2)
    match = node("match", counts=(1,), event_id=event, next_event_id=following)
    after = node("after", event_id=following, previous_event_id=event)
    elsewhere = node("elsewhere", event_id=UUID(int=3))

    result = order("Which port?", [elsewhere, after, match])

    assert result == [match.node_id, after.node_id, elsewhere.node_id]


def test_a_session_that_speaks_of_the_question_lifts_its_turns() -> None:
    match = node("match", counts=(3,), session_ref="one")
    same = node("same", session_ref="one")
    others = [node(f"other {n}", session_ref=f"s{n}") for n in range(4)]

    result = order("Which port?", [*others, same, match])

    assert result[:2] == [match.node_id, same.node_id]


def test_a_mentioned_entity_lifts_its_leaves() -> None:
    atlas = EntityMatch(UUID(int=9), "Atlas", "atlas", "project")
    about = node("about", entity_ids=(atlas.entity_id,))
    other = node("other")

    assert (
        order("Which port does Atlas use?", [other, about], entities=(atlas,))[0] == about.node_id
    )


def test_leaves_in_the_named_time_come_first() -> None:
    inside = node("inside", start=NOW - timedelta(days=1), end=NOW - timedelta(days=1))
    outside = node("outside", start=NOW - timedelta(days=9), end=NOW - timedelta(days=9))

    assert order("Which port did we use yesterday?", [outside, inside])[0] == inside.node_id


def test_the_newest_comes_first_when_it_is_asked_for() -> None:
    old = node("old", start=NOW - timedelta(days=90), end=NOW - timedelta(days=90))
    new = node("new")

    assert order("What is the latest port?", [old, new])[0] == new.node_id
    assert order("目前的端口是什么？", [old, new])[0] == new.node_id


def test_current_leaves_come_before_superseded_ones_unless_read_as_of_then() -> None:
    old = node("old", counts=(2,), status="superseded")
    new = node("new", counts=(1,))

    assert order("Which port?", [old, new])[0] == new.node_id
    assert order("Which port?", [old, new], as_of=NOW)[0] == old.node_id


def test_rare_terms_weigh_more() -> None:
    assert idf(0, 100) > idf(1, 100) > idf(50, 100) > 0
    assert idf(200, 100) >= 0
