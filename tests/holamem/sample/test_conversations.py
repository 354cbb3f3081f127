"""The shipped conversations, and how well the offline rules read them."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from holamem.sample.conversations import (
    LANGUAGES,
    SampleTurn,
    entity_names,
    questions,
    shown_questions,
    turns,
)
from workspaces.judging.base import Assignment, ChunkContext, EntityCandidate, LeafView
from workspaces.judging.offline import OfflineJudge

LEAST_PRECISION = 0.95
LEAST_RECALL = 0.85
UNCATEGORIZED = "uncategorized"
OFFSETS = {"en": {timedelta(0), timedelta(hours=1)}, "zh": {timedelta(hours=8)}}

judge = OfflineJudge()
pytestmark = pytest.mark.parametrize("language", LANGUAGES)


def contexts(language: str) -> Iterator[tuple[SampleTurn, ChunkContext]]:
    said: dict[str, list[str]] = defaultdict(list)
    for turn in turns(language):
        fields = turn.fields
        earlier = said[fields["session"]]
        yield (
            turn,
            ChunkContext(
                text=fields["text"],
                kind=fields["kind"],
                actor=fields["actor"],
                language=language,
                occurred_at=datetime.fromisoformat(fields["occurred_at"]),
                session_ref=fields["session"],
                succeeded=fields.get("succeeded"),
                has_execution_evidence=bool(turn.evidence),
                earlier_user_texts=tuple(earlier[-12:]),
                previous_turn=None,
                workspace_name="Sample",
            ),
        )
        if fields["kind"] == "user_message":
            earlier.append(fields["text"])


class SimulatedMemory:
    """The write path's table of decisions over the offline judge, in memory."""

    def __init__(self, language: str) -> None:
        self.entities: dict[str, EntityCandidate] = {}
        self.leaves: dict[str, list[LeafView]] = defaultdict(list)
        self.replaced: list[tuple[str, str]] = []
        for turn, context in contexts(language):
            if judge.admit(context).confidence >= 0.5:
                self._take(turn, context)

    def _take(self, turn: SampleTurn, context: ChunkContext) -> None:
        assignment = judge.assign(context, candidates=list(self.entities.values()))
        tree = self.leaves[self._owner(assignment)]
        found = judge.compare(context, subject_key=assignment.subject_key, leaves=tree)
        if found.relation == "same_memory":
            return
        if found.leaf_id is not None:
            self.replaced.append((found.leaf_id, turn.external_id))
            tree[:] = [leaf for leaf in tree if leaf.leaf_id != found.leaf_id]
        tree.append(
            LeafView(
                turn.external_id,
                context.text,
                assignment.title,
                assignment.subject_key,
                context.occurred_at,
            )
        )

    def _owner(self, assignment: Assignment) -> str:
        if assignment.entity_id and assignment.match_confidence >= 0.6:
            return assignment.entity_id
        new = assignment.new_entity
        if new is None or assignment.create_confidence < 0.68:
            return UNCATEGORIZED
        self.entities[new.name] = EntityCandidate(new.name, new.type, new.name, (), "", 0.5)
        return new.name


def test_the_conversation_is_long_spread_out_and_in_order(language: str) -> None:
    conversation = turns(language)
    times = [datetime.fromisoformat(turn.fields["occurred_at"]) for turn in conversation]
    assert len(conversation) >= 120
    assert times == sorted(times)
    assert times[-1] - times[0] > timedelta(weeks=5)
    assert len({turn.fields["session"] for turn in conversation}) >= 6
    assert {time.utcoffset() for time in times} == OFFSETS[language]


def test_external_ids_are_unique_and_references_look_back(language: str) -> None:
    seen: dict[str, SampleTurn] = {}
    for turn in turns(language):
        assert turn.external_id not in seen
        named = [seen[name] for name in turn.evidence]
        assert all(earlier.fields["succeeded"] is True for earlier in named)
        assert all(earlier.fields["session"] == turn.fields["session"] for earlier in named)
        seen[turn.external_id] = turn


def test_labels_and_evidence_are_not_sent(language: str) -> None:
    assert all({"durable", "evidence"}.isdisjoint(turn.fields) for turn in turns(language))


def test_questions_point_at_durable_turns(language: str) -> None:
    durable = {turn.external_id for turn in turns(language) if turn.is_durable}
    asked = questions(language)
    assert len(asked) >= 13
    assert [q.kind for q in shown_questions(language)] == ["exact", "broad", "unanswerable"]
    assert all(set(q.expected) <= durable for q in asked)
    assert all(bool(q.expected) == (q.kind != "unanswerable") for q in asked)


def test_the_offline_rules_admit_what_the_author_calls_durable(language: str) -> None:
    outcomes = Counter(
        (judge.admit(context).confidence >= 0.5, turn.is_durable)
        for turn, context in contexts(language)
    )
    right = outcomes[True, True]
    assert right / (right + outcomes[True, False]) >= LEAST_PRECISION
    assert right / (right + outcomes[False, True]) >= LEAST_RECALL


def test_only_known_subjects_become_entities(language: str) -> None:
    allowed = {name for names in entity_names(language) for name in names}
    assert set(SimulatedMemory(language).entities) <= allowed


def test_no_subject_becomes_two_entities(language: str) -> None:
    made = set(SimulatedMemory(language).entities)
    assert all(len(made.intersection(names)) <= 1 for names in entity_names(language))


def test_one_subject_fills_two_levels_of_summaries(language: str) -> None:
    sizes = sorted(len(leaves) for leaves in SimulatedMemory(language).leaves.values())
    assert sizes[-1] >= 16
    assert sizes[-3] >= 8


def test_a_fact_that_changes_twice_leaves_a_chain(language: str) -> None:
    replaced = dict(SimulatedMemory(language).replaced)
    window = [f"sample-{language}-{number}" for number in ("010", "068", "116")]
    rota = [f"sample-{language}-{number}" for number in ("011", "043", "097")]
    expected = {window[0]: window[1], window[1]: window[2], rota[0]: rota[1], rota[1]: rota[2]}
    assert replaced == expected
