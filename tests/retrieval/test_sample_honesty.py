"""How often an answer claims too much or too little, over the sample and questions about it.

The limits leave a little room beside what was measured on the loaded sample: of 15 questions
that memory cannot answer one English and no Chinese one were called covered; of 15 paraphrases
eight and twelve were.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from holamem.sample.conversations import LANGUAGES, entity_names, last_moment, questions, turns
from tests.retrieval.asking import ask
from tests.retrieval.factories import MemoryMaker
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import create_tenant, create_workspace

pytestmark = pytest.mark.slow

ASKED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "known_entities.json").read_text(encoding="utf-8")
)
MOST_COVERED_IN_ERROR = {"en": 3, "zh": 1}
LEAST_PARAPHRASES_COVERED = {"en": 7, "zh": 11}
# Their answers were superseded or are not in one turn.
NOT_EXACT = ("unanswerable", "broad", "history", "date")


@pytest.fixture(scope="module", params=LANGUAGES)
def sample(request: pytest.FixtureRequest) -> tuple[str, Workspace]:
    """The durable turns of one conversation, each in the tree of the first name in it."""
    language = request.param
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="Sample")
    memory = MemoryMaker(create_workspace(tenant, slug=f"w-{uuid4().hex}", name="Sample"))
    for turn in turns(language):
        if turn.is_durable:
            text, actor = turn.fields["text"], turn.fields["actor"]
            moment = datetime.fromisoformat(turn.fields["occurred_at"])
            tree = memory.tree(_subject(text, language) or actor)
            memory.leaf(text, tree=tree, actor=actor, observed_at=moment)
    return language, memory.workspace


def _subject(text: str, language: str) -> str | None:
    """The main name of the entity that the text names first."""
    places = [
        (text.index(name), -len(name), names[0])
        for names in entity_names(language)
        for name in names
        if name in text
    ]
    return min(places)[2] if places else None


def _level(workspace: Workspace, query: str, language: str) -> str:
    answer = ask(workspace, query, now=last_moment(language).isoformat())
    return str(answer["coverage"]["level"])


def _covered(workspace: Workspace, asked: list[str], language: str) -> list[str]:
    return [q for q in asked if _level(workspace, q, language) in ("medium", "high")]


def test_few_unanswerable_questions_about_known_entities_are_covered(
    sample: tuple[str, Workspace],
) -> None:
    language, workspace = sample
    covered = _covered(workspace, ASKED[language]["unanswerable"], language)
    assert len(covered) <= MOST_COVERED_IN_ERROR[language], covered


def test_most_paraphrases_are_covered(sample: tuple[str, Workspace]) -> None:
    language, workspace = sample
    asked = [item["question"] for item in ASKED[language]["paraphrased"]]
    covered = _covered(workspace, asked, language)
    assert len(covered) >= LEAST_PARAPHRASES_COVERED[language], covered


def test_the_sample_questions_are_covered_as_they_say(sample: tuple[str, Workspace]) -> None:
    language, workspace = sample
    asked = questions(language)
    answerable = [q.question for q in asked if q.kind not in ("unanswerable", "history")]
    unanswerable = [q.question for q in asked if q.kind == "unanswerable"]
    assert _covered(workspace, answerable, language) == answerable
    assert _covered(workspace, unanswerable, language) == []


def test_exact_sample_questions_get_few_facts(sample: tuple[str, Workspace]) -> None:
    language, workspace = sample
    counts = {}
    for asked in questions(language):
        if asked.kind not in NOT_EXACT:
            answer = ask(workspace, asked.question, now=last_moment(language).isoformat())
            counts[asked.question] = len(answer["retrieval_pack"]["known_facts"])
    assert max(counts.values()) <= 5, counts
    assert sum(counts.values()) <= 2 * len(counts), counts
