"""Broad questions about the sample: do summaries find the right sessions, at what cost?

The same question is asked once with summaries first and once for exact leaves. The sessions that
the evidence speaks of are compared with those that speak of the topic.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources
from statistics import fmean
from typing import Any

from holamem.sample.conversations import LANGUAGES, last_moment, turns
from holamem.sample.loader import client, load_sample
from holamem.text.normalise import normalise
from retrieval.bench.measures import Measure
from retrieval.bench.recall import new_workspace, retrieved
from retrieval.bench.recall_report import measure
from retrieval.bench.server import Target

NAME = "broad"
SESSIONS_SHOWN = 5
MODES = {"summaries first": "broad_summary", "leaves first": "exact_evidence"}


@dataclass(frozen=True, slots=True)
class BroadQuestion:
    """`sessions` are those of the sample with a durable turn on the topic; never empty."""

    question: str
    sessions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Found:
    """`recall` of the sessions among the first few that the evidence speaks of, 0..1."""

    recall: float
    tokens: float


def broad_questions(language: str) -> list[BroadQuestion]:
    return [
        BroadQuestion(
            entry["question"],
            frozenset(f"sample-{language}-{number:02d}" for number in entry["sessions"]),
        )
        for entry in _file()[language]
    ]


@cache
def _file() -> Mapping[str, Any]:
    text = resources.files("retrieval.bench").joinpath("broad.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


def measure_broad(target: Target) -> list[Measure]:
    """Loads each conversation of the sample into a workspace of its own."""
    measures: list[Measure] = []
    with client(url=target.url, api_key=target.api_key) as http:
        for language in LANGUAGES:
            workspace = new_workspace(http, name=f"broad {language}")
            load_sample(
                url=target.url, api_key=target.api_key, workspace=workspace, languages=[language]
            )
            for row, mode in MODES.items():
                body = {"mode": mode, "reasoning": "off", "now": last_moment(language).isoformat()}
                found = [
                    _found(asked, retrieved(http, workspace, {**body, "query": asked.question}))
                    for asked in broad_questions(language)
                ]
                measures += _rows(f"{language}, {row}", found)
    return measures


def _rows(row: str, found: list[Found]) -> Iterator[Measure]:
    recall = round(100 * fmean(item.recall for item in found), 1)
    yield measure(NAME, row, "questions asked", len(found))
    yield measure(NAME, row, f"session R@{SESSIONS_SHOWN}", recall, unit="%")
    yield measure(NAME, row, "tokens returned", round(fmean(item.tokens for item in found)))


def _found(asked: BroadQuestion, answer: Mapping[str, Any]) -> Found:
    language = next(iter(asked.sessions)).split("-")[1]
    shown = list(sessions_of(answer, language=language))[:SESSIONS_SHOWN]
    recall = len(asked.sessions.intersection(shown)) / min(SESSIONS_SHOWN, len(asked.sessions))
    return Found(recall, float(answer["coverage"]["searched"]["tokens"]))


def sessions_of(answer: Mapping[str, Any], *, language: str) -> Iterable[str]:
    """In the order in which the evidence speaks of them, each once.

    A leaf speaks of the sessions of its sources, a summary of those whose turns its shown
    sentences come from.
    """
    at, said = _sessions(language)
    found: dict[str, None] = {}
    for item in answer["evidence"]:
        for source in item["sources"]:
            found.setdefault(at[datetime.fromisoformat(source["occurred_at"])])
        if item["node_kind"] == "summary":
            text = normalise(item["excerpt"])
            places = sorted((text.find(turn), name) for turn, name in said if turn in text)
            found.update((name, None) for _, name in places if name not in found)
    return found


@cache
def _sessions(language: str) -> tuple[dict[datetime, str], list[tuple[str, str]]]:
    """The session of each moment, and of the normalised text of each turn."""
    fields = [turn.fields for turn in turns(language)]
    at = {datetime.fromisoformat(item["occurred_at"]): item["session"] for item in fields}
    return at, [(normalise(item["text"]), item["session"]) for item in fields]
