"""How much of the named evidence an answer returns, on public conversations, over HTTP.

No model judges anything: each turn becomes an event that carries the turn's id, each question is
asked with `reasoning` off, and the ids of the evidence are compared with those of the data set.
"""

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from uuid import uuid4

import httpx2

from holamem.sample.loader import SampleFailed, answered, client
from retrieval.bench.datasets import Asked, Conversation
from retrieval.bench.measures import Measure
from retrieval.bench.scoring import CUTS, Scores, area_under_curve, score_ranking
from retrieval.bench.server import Target
from retrieval.definitions import QUERY_CHARACTERS

RESULTS = 20
SENT_TOGETHER = 100
IDLE_SECONDS = 3_600.0
POLL_SECONDS = 1.0
# Questions of the next conversation that are put to each one: memory cannot answer them.
FOREIGN_QUESTIONS = 50


@dataclass(frozen=True, slots=True)
class Result:
    """One answered question; `coverage` is the answer's own, 0..1, `tokens` those it returned."""

    asked: Asked
    scores: Scores
    coverage: float
    tokens: float


def measure_recall(target: Target, *, conversations: Sequence[Conversation]) -> list[Measure]:
    """Each conversation is a workspace of its own, made with the target's key (`admin`)."""
    results: list[Result] = []
    foreign: list[float] = []
    with client(url=target.url, api_key=target.api_key) as http:
        for number, conversation in enumerate(conversations):
            workspace = _new_workspace(http, conversation)
            _remember(http, workspace, conversation)
            results += [_result(http, workspace, conversation, q) for q in conversation.questions]
            others = conversations[(number + 1) % len(conversations)]
            if others is not conversation:
                foreign += _foreign(http, workspace, conversation, others)
    return [*_measures(results), *_abstention(results, foreign)]


def _new_workspace(http: httpx2.Client, conversation: Conversation) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", conversation.name.lower()).strip("-")
    body = {"slug": f"{name}-{uuid4().hex[:8]}", "name": conversation.name}
    made: str = answered(http.post("/api/v1/workspaces", json=body))["slug"]
    return made


def _remember(http: httpx2.Client, workspace: str, conversation: Conversation) -> None:
    """All turns, processed and indexed. Raises SampleFailed."""
    events = [
        {
            "kind": "user_message",
            "text": turn.text,
            **({"actor": turn.actor} if turn.actor else {}),
            "session": turn.session,
            "occurred_at": turn.occurred_at.isoformat(),
            "admission": "accepted",
            "metadata": {"turn": turn.turn_id},
        }
        for turn in conversation.turns
    ]
    for first in range(0, len(events), SENT_TOGETHER):
        body = {"events": events[first : first + SENT_TOGETHER]}
        answered(http.post(f"/api/v1/workspaces/{workspace}/events:batch", json=body))
    deadline = time.monotonic() + IDLE_SECONDS
    while not answered(http.get(f"/api/v1/workspaces/{workspace}/status"))["idle"]:
        if time.monotonic() > deadline:
            raise SampleFailed(f"{conversation.name} was not remembered in time.")
        time.sleep(POLL_SECONDS)


def _ask(
    http: httpx2.Client, workspace: str, conversation: Conversation, question: str
) -> Mapping[str, object]:
    """The end of a question that is too long: its point comes last."""
    body = {
        "query": question[-QUERY_CHARACTERS:],
        "mode": "exact_evidence",
        "reasoning": "off",
        "max_results": RESULTS,
        "now": conversation.ended_at.isoformat(),
    }
    return answered(http.post(f"/api/v1/workspaces/{workspace}/memory/retrieve", json=body))


def _result(
    http: httpx2.Client, workspace: str, conversation: Conversation, asked: Asked
) -> Result:
    answer = _ask(http, workspace, conversation, asked.question)
    sessions = {turn.turn_id: turn.session for turn in conversation.turns}
    scores = score_ranking(turns_of(answer), gold=asked.gold, session_of=sessions)
    coverage = _mapping(answer["coverage"])
    tokens = _mapping(coverage["searched"])["tokens"]
    return Result(asked, scores, float(str(coverage["score"])), float(str(tokens)))


def turns_of(answer: Mapping[str, object]) -> list[str]:
    """The turns behind the evidence of an answer, in its order."""
    evidence = answer["evidence"]
    items = evidence if isinstance(evidence, list) else []
    return [source["metadata"]["turn"] for item in items for source in item["sources"]]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _foreign(
    http: httpx2.Client, workspace: str, conversation: Conversation, others: Conversation
) -> list[float]:
    """Coverage of questions that this memory cannot answer."""
    step = max(1, len(others.questions) // FOREIGN_QUESTIONS)
    answers = (
        _ask(http, workspace, conversation, asked.question) for asked in others.questions[::step]
    )
    return [float(str(_mapping(answer["coverage"])["score"])) for answer in answers]


def _measures(results: Sequence[Result]) -> list[Measure]:
    by_category: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_category[result.asked.category].append(result)
    measures = [
        Measure("questions", len(results), "questions"),
        *_rows("all", results),
        Measure("tokens", round(fmean(result.tokens for result in results)), "tokens"),
    ]
    if len(by_category) == 1:
        return measures
    for category, own in sorted(by_category.items()):
        measures += [Measure(f"{category} questions", len(own), "questions")]
        measures += _rows(category, own)
    return measures


def _rows(name: str, results: Sequence[Result]) -> list[Measure]:
    scores = [result.scores for result in results]
    return [
        *(_share(f"{name} R@{cut}", (s.recall[n] for s in scores)) for n, cut in enumerate(CUTS)),
        _share(f"{name} H@10", (s.hit[CUTS.index(10)] for s in scores)),
        _share(f"{name} MRR", (s.mrr for s in scores)),
        _share(f"{name} nDCG@10", (s.ndcg_10 for s in scores)),
        _share(f"{name} session H@1", (s.session_hit_1 for s in scores)),
        _share(f"{name} session R@10", (s.session_recall_10 for s in scores)),
    ]


def _share(name: str, values: Iterable[float]) -> Measure:
    return Measure(name, round(100 * fmean(values), 1), "%")


def _abstention(results: Sequence[Result], foreign: Sequence[float]) -> list[Measure]:
    """How well coverage tells a memory that can answer from one that cannot."""
    if not foreign:
        return []
    area = area_under_curve([result.coverage for result in results], foreign)
    return [
        Measure("foreign questions", len(foreign), "questions"),
        Measure("coverage AUC against foreign questions", round(area, 3), ""),
    ]
