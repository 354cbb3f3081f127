"""Reads the two sample conversations and their questions, which ship with the product."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any

LANGUAGES = ("en", "zh")
SHOWN_KINDS = ("exact", "broad", "unanswerable")

# What an event of the file has for its author and its tests, not for the API.
_NOT_SENT = frozenset({"durable", "evidence"})


@dataclass(frozen=True, slots=True)
class SampleTurn:
    """One event as the API takes it. `evidence` holds external ids of earlier turns."""

    fields: dict[str, Any]
    evidence: tuple[str, ...]
    is_durable: bool

    @property
    def external_id(self) -> str:
        return str(self.fields["external_id"])


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """`expected` are external ids of turns that hold the answer; none for an unanswerable one."""

    question: str
    kind: str
    expected: tuple[str, ...]


def turns(language: str) -> list[SampleTurn]:
    """The turns in the order in which they happened. Raises KeyError for an unknown language."""
    return [
        SampleTurn(
            fields={name: value for name, value in event.items() if name not in _NOT_SENT},
            evidence=tuple(event.get("evidence", ())),
            is_durable=event["durable"],
        )
        for event in _read(f"{_known(language)}.json")["events"]
    ]


def last_moment(language: str) -> datetime:
    """When the last turn of the conversation was said."""
    return max(datetime.fromisoformat(turn.fields["occurred_at"]) for turn in turns(language))


def questions(language: str) -> list[SampleQuestion]:
    entries = _read("questions.json")[_known(language)]["questions"]
    return [
        SampleQuestion(entry["question"], entry["kind"], tuple(entry["expected_external_ids"]))
        for entry in entries
    ]


def shown_questions(language: str) -> list[SampleQuestion]:
    """The first question of each kind: exact, broad, unanswerable."""
    found = questions(language)
    return [next(q for q in found if q.kind == kind) for kind in SHOWN_KINDS]


def entity_names(language: str) -> Sequence[Sequence[str]]:
    """Every subject of a conversation with its aliases, its main name first."""
    names: Sequence[Sequence[str]] = _read("questions.json")[_known(language)]["entities"]
    return names


def _known(language: str) -> str:
    if language not in LANGUAGES:
        raise KeyError(language)
    return language


@cache
def _read(name: str) -> dict[str, Any]:
    text = resources.files("holamem.sample").joinpath(name).read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document
