from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

from retrieval.stages.candidates import Candidates
from retrieval.stages.fuse import fuse
from retrieval.stages.intent import build_intent, read_query
from retrieval.stages.words import idf
from retrieval.types import Anchor, EntityMatch, Intent, Lookups, Ranked
from workspaces.index.search import Found, FoundNode

NOW = datetime(2026, 5, 22, tzinfo=UTC)
SPACE = UUID(int=7)
ANCHOR = Anchor(NOW, ZoneInfo("UTC"))


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
        "asks": False,
        "names_time": False,
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
    reading = read_query(query, mode="auto", explicit=None, anchor=ANCHOR)
    intent: Intent = build_intent(reading, categories=None, known=Lookups(entities=entities))
    terms = reading.questions[0].terms
    padded = [
        node if len(node.term_counts) == len(terms) else _padded(node, len(terms)) for node in nodes
    ]
    found = Found(tuple(padded), 100, False, 10.0, tuple(5 for _ in terms))
    candidates = Candidates(found, terms, reading.questions, ((0.0,),), "", ())
    return fuse(candidates, intent=intent, query=query, as_of=as_of)


def _of(wanted: FoundNode, found: list[Ranked]) -> Ranked:
    return next(item for item in found if item.node_id == wanted.node_id)


def _padded(item: FoundNode, count: int) -> FoundNode:
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


def test_pairs_that_span_two_words_weigh_little() -> None:
    """我的, 的手 and 手机: what is asked about is a telephone."""
    subject = node("subject", counts=(0, 0, 1))
    filler = node("filler", counts=(1, 1, 0))

    assert order("我的手机", [filler, subject])[0] == subject.node_id


def test_the_last_line_of_a_conversation_weighs_most() -> None:
    lines = ["We shall fly to Lisbon.", "The lake is near.", "What about magic?"]
    for said, best in ((lines, "magic"), (lines[::-1], "lisbon")):
        query = "\n".join(said)
        terms = read_query(query, mode="auto", explicit=None, anchor=ANCHOR).questions[0].terms
        held = {
            word: node(word, counts=tuple(int(term == word) for term in terms))
            for word in ("lisbon", "magic")
        }

        assert order(query, list(held.values()))[0] == held[best].node_id


def test_the_best_session_of_little_lifts_its_turns_less() -> None:
    few = [node("few", counts=(1, 0, 0, 0), session_ref="one"), node("same", session_ref="one")]
    many = [node("many", counts=(1, 1, 1, 1), session_ref="one"), node("same", session_ref="one")]
    others = [node(f"other {n}", session_ref=f"s{n}") for n in range(4)]
    query = "Which magic hats are sold near the lake?"

    assert (
        _of(few[1], ranked(query, [*others, *few])).parts["session"]
        < (_of(many[1], ranked(query, [*others, *many])).parts["session"])
    )


def test_a_session_of_one_turn_is_no_route_to_it() -> None:
    """Its words are the turn's own and would count twice."""
    match = node("match", counts=(1,), session_ref="one")
    alone = node("alone", counts=(1,))
    others = [node(f"other {n}", session_ref=f"s{n // 2}") for n in range(6)]

    by_id = {item.node_id: item for item in ranked("Which port?", [*others, alone, match])}

    assert by_id[match.node_id].score == by_id[alone.node_id].score


def test_the_answer_to_the_same_question_comes_first() -> None:
    asked, told = UUID(int=1), UUID(int=2)
    question = node("asked", counts=(1,), event_id=asked, next_event_id=told, asks=True)
    answer = node("answer", event_id=told, previous_event_id=asked)
    statement = replace(question, asks=False)

    after_question = ranked("Which port?", [question, answer])
    after_statement = ranked("Which port?", [statement, answer])

    assert "answers" in _of(answer, after_question).reasons
    assert _of(answer, after_question).score > _of(answer, after_statement).score


def test_a_turn_that_ends_in_a_question_comes_after_one_that_tells() -> None:
    asking, telling = node("asking", counts=(1,), asks=True), node("telling", counts=(1,))

    assert order("Which port?", [asking, telling])[0] == telling.node_id


def test_asked_when_a_statement_that_names_a_time_comes_first() -> None:
    timed, plain = node("timed", counts=(1,), names_time=True), node("plain", counts=(1,))

    assert order("When did the port change?", [plain, timed])[0] == timed.node_id
    assert order("端口是什么时候改的？", [plain, timed])[0] == timed.node_id
    assert "says_when" not in ranked("Which port when busy?", [plain, timed])[0].reasons


def test_what_is_named_by_a_turn_and_its_neighbour_together_counts_once() -> None:
    first, second = UUID(int=1), UUID(int=2)
    whole = node("whole", counts=(1, 1))
    before = node("before", counts=(1, 0), event_id=first, next_event_id=second)
    after = node("after", counts=(0, 1), event_id=second, previous_event_id=first)

    found = {i.node_id: i.parts["covered"] for i in ranked("port gateway", [whole, before, after])}

    assert len(set(found.values())) == 1


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


def test_what_is_told_soon_after_the_named_time_comes_before_what_is_told_much_later() -> None:
    soon = node("soon", start=NOW, end=NOW, names_time=True)
    later = node("later", start=NOW + timedelta(days=30), end=NOW + timedelta(days=30))
    before = node("before", start=NOW - timedelta(days=9), end=NOW - timedelta(days=9))

    found = ranked("Which port did we use yesterday?", [later, before, soon])

    assert _of(soon, found).parts["time"] > 0
    assert _of(later, found).parts["time"] == _of(before, found).parts["time"] == 0


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
