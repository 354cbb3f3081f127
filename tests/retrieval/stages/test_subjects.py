from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from retrieval.stages.intent import split_questions
from retrieval.stages.phrases import phrase
from retrieval.stages.subjects import asked_beside, subject_of, without_names
from retrieval.types import Anchor, EntityMatch, NodeRow, Question

ANCHOR = Anchor(datetime(2026, 5, 22, tzinfo=UTC), ZoneInfo("UTC"))


def question(text: str) -> Question:
    [only] = split_questions(text, ANCHOR)
    return only


def entity(name: str, *aliases: str) -> EntityMatch:
    return EntityMatch(UUID(int=1), name, name.lower(), "project", (name, *aliases))


def row(*names: str) -> NodeRow:
    """A node that is linked to entities of these names; the rest of it plays no part."""
    values: dict[str, Any] = dict.fromkeys(NodeRow.__dataclass_fields__)
    return NodeRow(**{**values, "entities": tuple((UUID(int=2), name) for name in names)})


@pytest.mark.parametrize(
    ("text", "names", "left"),
    [
        ("What is Maya Okafor's phone number?", ("maya okafor",), "What is phone number?"),
        ("Where does the Atlas-Gateway log?", ("atlas gateway",), "Where does the log?"),
        ("Is Atlassian like Atlas?", ("atlas",), "Is Atlassian like ?"),
        ("支付 网关由谁付费？", ("支付网关",), "由谁付费?"),
    ],
)
def test_names_are_cut_out_as_words(text: str, names: tuple[str, ...], left: str) -> None:
    assert without_names(text, names) == left


def test_what_is_asked_beside_the_name_keeps_no_pair_that_spans_it() -> None:
    asked = question("支付网关生产端口是多少？")
    left = asked_beside(asked, spellings=("支付网关",))
    assert "关生" in asked.topic_terms
    assert left.topic_terms == tuple(
        t for t in asked.topic_terms if t in ("生产", "产端", "端口", "口是")
    )


def test_an_alias_counts_as_the_name() -> None:
    found = subject_of(
        question("Who pays for the edge proxy?"), entities=[entity("Atlas", "edge proxy")], rows=[]
    )
    assert found is not None
    assert (found.name, found.spellings) == ("atlas", ("edge proxy",))


def test_a_part_of_the_name_counts_where_the_evidence_is_about_it() -> None:
    asked = question("Who pays for Atlas?")
    found = subject_of(asked, entities=[], rows=[row("Atlas gateway")])
    assert found is not None
    assert (found.name, found.spellings) == ("atlas gateway", ("atlas",))
    assert subject_of(asked, entities=[], rows=[row("Beacon")]) is None


def test_of_two_entities_the_subject_is_what_most_evidence_is_about() -> None:
    found = subject_of(
        question("Does Maya own Atlas?"),
        entities=[entity("Maya"), replace(entity("Atlas"), entity_id=UUID(int=3))],
        rows=[row("Atlas"), row("Atlas", "Maya")],
    )
    assert found is not None
    assert found.name == "atlas"


def test_phrases_follow_the_language_of_the_question() -> None:
    assert phrase("provider", asked="Who wrote?", name="gmail") == (
        "The question is about what gmail holds."
    )
    assert "gmail" in phrase("provider", asked="谁写的邮件？", name="gmail")
    assert "记忆" in phrase("nothing", asked="房租是多少？")
