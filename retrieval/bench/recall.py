"""How much of the named evidence an answer returns, on public conversations, over HTTP.

No model judges anything: each turn becomes an event that carries the turn's id, each question is
asked with `reasoning` off, and the ids of the evidence are compared with those of the data set.
"""

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx2

from holamem.sample.loader import SampleFailed, answered, client
from retrieval.bench.datasets import Asked, Conversation, Turn
from retrieval.bench.scoring import Scores, score_ranking
from retrieval.bench.server import Target
from retrieval.definitions import QUERY_CHARACTERS

RESULTS = 20
SENT_TOGETHER = 100
IDLE_SECONDS = 3_600.0
POLL_SECONDS = 1.0
# Of each conversation so many questions are put to another one, which cannot answer them.
FOREIGN_QUESTIONS = 50
# Of each conversation so many questions are asked again of a memory without their evidence.
LEFT_OUT_QUESTIONS = 40
# Their evidence stands in one place, so that nothing else answers them when it is left out.
SIMPLE_CATEGORIES = frozenset({"single-hop", "simple"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer says of itself: `coverage` 0..1, its level, and the tokens it returned."""

    coverage: float
    level: str
    tokens: float


@dataclass(frozen=True, slots=True)
class Result:
    asked: Asked
    scores: Scores
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that was asked of one data set.

    `own` and `foreign` are the same kind of questions, put to their own memory and to another's;
    `left_in` and `left_out` the same questions, asked where their evidence is and where it is not.
    """

    results: list[Result] = field(default_factory=list)
    own: list[Verdict] = field(default_factory=list)
    foreign: list[Verdict] = field(default_factory=list)
    left_in: list[Verdict] = field(default_factory=list)
    left_out: list[Verdict] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Memory:
    """A workspace that holds one conversation."""

    http: httpx2.Client
    workspace: str
    conversation: Conversation


def ask_all(target: Target, *, conversations: Sequence[Conversation]) -> Outcome:
    """Each conversation is a workspace of its own, made with the target's key (`admin`)."""
    outcome = Outcome()
    with client(url=target.url, api_key=target.api_key) as http:
        for number, conversation in enumerate(conversations):
            memory = _remember(http, conversation)
            own = [_result(memory, asked) for asked in conversation.questions]
            outcome.results.extend(own)
            outcome.own.extend(result.verdict for result in _some(own, FOREIGN_QUESTIONS))
            another = conversations[(number + _away(conversations)) % len(conversations)]
            if another is not conversation:
                outcome.foreign.extend(_foreign(memory, another))
            _leave_out(http, conversation, own, outcome)
    return outcome


def _away(conversations: Sequence[Conversation]) -> int:
    """Half the set: neighbours may be made alike, so that one answers the other's questions."""
    return max(1, len(conversations) // 2)


def _some(items: Sequence[Any], count: int) -> Sequence[Any]:
    """At most so many, evenly spaced."""
    step = -(-len(items) // count) if items else 1
    return items[::step]


def _foreign(memory: Memory, another: Conversation) -> list[Verdict]:
    asked = _some(another.questions, FOREIGN_QUESTIONS)
    return [_verdict(_ask(memory, item.question)) for item in asked]


def _leave_out(
    http: httpx2.Client, conversation: Conversation, own: Sequence[Result], outcome: Outcome
) -> None:
    simple = [result for result in own if result.asked.category in SIMPLE_CATEGORIES]
    chosen = _some(simple, LEFT_OUT_QUESTIONS)
    if not chosen:
        return
    gone = frozenset().union(*(result.asked.gold for result in chosen))
    memory = _remember(http, conversation, without=gone)
    outcome.left_in.extend(result.verdict for result in chosen)
    outcome.left_out.extend(_verdict(_ask(memory, result.asked.question)) for result in chosen)


def _remember(
    http: httpx2.Client, conversation: Conversation, *, without: Collection[str] = ()
) -> Memory:
    """All turns but those `without`, processed and indexed. Raises SampleFailed."""
    workspace = new_workspace(http, name=conversation.name)
    events = [_event(turn) for turn in conversation.turns if turn.turn_id not in without]
    for first in range(0, len(events), SENT_TOGETHER):
        body = {"events": events[first : first + SENT_TOGETHER]}
        answered(http.post(f"/api/v1/workspaces/{workspace}/events:batch", json=body))
    deadline = time.monotonic() + IDLE_SECONDS
    while not answered(http.get(f"/api/v1/workspaces/{workspace}/status"))["idle"]:
        if time.monotonic() > deadline:
            raise SampleFailed(f"{conversation.name} was not remembered in time.")
        time.sleep(POLL_SECONDS)
    return Memory(http, workspace, conversation)


def _event(turn: Turn) -> dict[str, Any]:
    return {
        "kind": "user_message",
        "text": turn.text,
        **({"actor": turn.actor} if turn.actor else {}),
        "session": turn.session,
        "occurred_at": turn.occurred_at.isoformat(),
        "admission": "accepted",
        "metadata": {"turn": turn.turn_id},
    }


def new_workspace(http: httpx2.Client, *, name: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    body = {"slug": f"{slug}-{uuid4().hex[:8]}", "name": name}
    made: str = answered(http.post("/api/v1/workspaces", json=body))["slug"]
    return made


def _ask(memory: Memory, question: str) -> Mapping[str, Any]:
    """The end of a question that is too long: its point comes last."""
    body = {
        "query": question[-QUERY_CHARACTERS:],
        "mode": "exact_evidence",
        "reasoning": "off",
        "max_results": RESULTS,
        "now": memory.conversation.ended_at.isoformat(),
    }
    return retrieved(memory.http, memory.workspace, body)


def retrieved(http: httpx2.Client, workspace: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    return answered(http.post(f"/api/v1/workspaces/{workspace}/memory/retrieve", json=body))


def _result(memory: Memory, asked: Asked) -> Result:
    answer = _ask(memory, asked.question)
    sessions = {turn.turn_id: turn.session for turn in memory.conversation.turns}
    scores = score_ranking(turns_of(answer), gold=asked.gold, session_of=sessions)
    return Result(asked, scores, _verdict(answer))


def turns_of(answer: Mapping[str, Any]) -> list[str]:
    """The turns behind the evidence of an answer, in its order."""
    sources: Iterable[Any] = (source for item in answer["evidence"] for source in item["sources"])
    return [source["metadata"]["turn"] for source in sources]


def _verdict(answer: Mapping[str, Any]) -> Verdict:
    coverage = answer["coverage"]
    tokens = float(coverage["searched"]["tokens"])
    return Verdict(float(coverage["score"]), str(coverage["level"]), tokens)
