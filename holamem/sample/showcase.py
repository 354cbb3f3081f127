"""Asks the sample's questions and renders the answers as short, readable text."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from holamem.sample.conversations import last_moment, shown_questions
from holamem.sample.loader import answered, client

SHOWN_RESULTS = 6
# The conversations are of the past, and much of what they say holds for some weeks only.
ASKED_AFTER = timedelta(hours=1)
FACTS_SHOWN = 4
EVIDENCE_SHOWN = 3
EXCERPT_CHARACTERS = 140


def show_questions(*, url: str, api_key: str, workspace: str, languages: Sequence[str]) -> str:
    """One exact, one broad and one unanswerable question per language with their answers.

    Asked as of shortly after that language's last turn, so that the sample's age hides nothing.
    Raises SampleFailed when the server refuses a question.
    """
    parts = []
    with client(url=url, api_key=api_key) as http:
        for language in languages:
            path = f"/api/v1/workspaces/{workspace}/memory/retrieve"
            moment = (last_moment(language) + ASKED_AFTER).isoformat()
            for asked in shown_questions(language):
                body = {"query": asked.question, "max_results": SHOWN_RESULTS, "now": moment}
                parts.append(render_answer(asked.question, answered(http.post(path, json=body))))
    return "\n\n".join(parts)


def render_answer(question: str, answer: dict[str, Any]) -> str:
    """The question, then facts, evidence, gaps and coverage; a part with nothing is left out."""
    coverage = answer["coverage"]
    facts = answer["retrieval_pack"]["known_facts"][:FACTS_SHOWN]
    evidence = answer["evidence"][:EVIDENCE_SHOWN]
    lines = [
        f"? {question}",
        *[f"  = {_short(fact['text'])}  {_ids(fact['evidence_ids'])}" for fact in facts],
        *[f"  [{item['evidence_id']}] {_short(item['excerpt'])}" for item in evidence],
        *[f"  gap ({gap['kind']}): {_short(gap['reason'])}" for gap in answer["gaps"]],
        f"  coverage: {coverage['level']} ({float(coverage['score']):.2f})",
    ]
    return "\n".join(lines)


def _ids(evidence_ids: Sequence[str]) -> str:
    return " ".join(f"[{evidence_id}]" for evidence_id in evidence_ids)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    if len(flat) <= EXCERPT_CHARACTERS:
        return flat
    head = flat[:EXCERPT_CHARACTERS]
    return (head.rsplit(" ", 1)[0] if " " in head[EXCERPT_CHARACTERS // 2 :] else head) + " …"
