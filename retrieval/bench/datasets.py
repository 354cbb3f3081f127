"""Public data sets of conversations whose questions name their evidence, turn by turn.

LoCoMo (English dialogues), MemDaily (Chinese messages), MADial (memories that a dialogue should
recall, Chinese and English). Each is a folder of the data directory, in the files of its authors.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# MemDaily's trajectories are short, so this many are one memory and distract from each other.
POOLED_TRAJECTORIES = 10
LOCOMO_CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_SAID_BY = re.compile(r"^<([^>]+)>:\s*")
_ASSISTANT = "Assistant"
_ZH_MINUTE = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})日\D*(\d{1,2}):(\d{2})")


class NoSuchData(RuntimeError):
    """The message names what is missing."""


@dataclass(frozen=True, slots=True)
class Turn:
    """`turn_id` is unique in its conversation."""

    turn_id: str
    session: str
    actor: str
    text: str
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Asked:
    """`gold` holds the ids of the turns that answer it; never empty."""

    question: str
    gold: frozenset[str]
    category: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """One memory: its turns in their order and what is asked of it."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Asked, ...]

    @property
    def ended_at(self) -> datetime:
        return max(turn.occurred_at for turn in self.turns)


def load(name: str, *, data: Path) -> list[Conversation]:
    """Raises NoSuchData."""
    try:
        return list(_LOADERS[name](data))
    except (OSError, IndexError) as error:
        raise NoSuchData(f"{data} does not hold {name}: {error}.") from error


def _locomo(data: Path) -> Iterator[Conversation]:
    path = sorted((data / "locomo").glob("locomo*.json"))[0]
    for told in _read(path):
        turns = tuple(_locomo_turns(told["conversation"]))
        questions = (
            (
                asked["question"],
                _locomo_ids(asked.get("evidence")),
                LOCOMO_CATEGORIES[asked["category"]],
            )
            for asked in told["qa"]
        )
        yield _conversation(told["sample_id"], turns, questions)


def _locomo_turns(told: Mapping[str, Any]) -> Iterator[Turn]:
    numbers = sorted(int(match[1]) for key in told if (match := _SESSION.fullmatch(key)))
    for number in numbers:
        began = datetime.strptime(
            told[f"session_{number}_date_time"].upper(), "%I:%M %p ON %d %B, %Y"
        ).replace(tzinfo=UTC)
        for index, turn in enumerate(told[f"session_{number}"]):
            shown = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield Turn(
                turn_id=turn["dia_id"],
                session=f"S{number}",
                actor=turn["speaker"],
                text=turn["text"] + shown,
                occurred_at=began + timedelta(seconds=index),
            )


def _locomo_ids(evidence: list[str] | None) -> frozenset[str]:
    """Some evidence is written as "D1:3; D2:04" or "D:1:3"."""
    found = (match for item in evidence or () for match in _EVIDENCE.findall(str(item)))
    return frozenset(f"D{int(session)}:{int(turn)}" for session, turn in found)


def _memdaily(data: Path) -> Iterator[Conversation]:
    paths = sorted((data / "memdaily").glob("*.json"))
    if not paths:
        raise NoSuchData(f"{data} does not hold memdaily.")
    for path in paths:
        category = path.stem[3:].rsplit("_", 1)[0]
        told = _read(path)
        for first in range(0, len(told), POOLED_TRAJECTORIES):
            pooled = told[first : first + POOLED_TRAJECTORIES]
            turns = tuple(turn for trajectory in pooled for turn in _memdaily_turns(trajectory))
            questions = (
                (
                    asked["question"],
                    frozenset(f"{trajectory['tid']}:{step}" for step in asked["target_step_id"]),
                    category,
                )
                for trajectory in pooled
                for asked in trajectory["question_list"]
            )
            yield _conversation(f"{path.stem}#{first}", turns, questions)


def _memdaily_turns(trajectory: Mapping[str, Any]) -> Iterator[Turn]:
    for message in trajectory["message_list"]:
        found = _ZH_MINUTE.search(message["time"])
        if found is None:
            raise NoSuchData(f"memdaily: {message['time']!r} is no time.")
        yield Turn(
            turn_id=f"{trajectory['tid']}:{message['mid']}",
            session=str(trajectory["tid"]),
            actor="",
            text=message["message"],
            occurred_at=datetime.strptime("-".join(found.groups()), "%Y-%m-%d-%H-%M").replace(
                tzinfo=UTC
            ),
        )


def _madial(data: Path, language: str) -> Iterator[Conversation]:
    """The question is what the user said before the first test turn, where the authors ask too."""
    folder = data / "madial"
    memory = _read(folder / f"MADial-Bench-{language}-memory.json")
    turns = tuple(
        Turn(
            turn_id=key,
            session=key,
            actor="",
            text=told["event"],
            occurred_at=datetime.strptime(told["time"], "%Y-%m-%d").replace(tzinfo=UTC),
        )
        for item in memory
        for key, told in list(item.items())[:1]
    )
    questions = (
        (
            _madial_question(told["dialogue"][1 : told["test-turn"][0]]),
            frozenset(map(str, told["relevant-id"])),
            "recall",
        )
        for told in _read(folder / f"MADial-Bench-{language}-dialogue.json")
        if told["test-turn"]
    )
    yield _conversation(f"madial-{language}", turns, questions)


def _madial_question(said: list[str]) -> str:
    """The user's own lines: on the measured questions the assistant's only distracted."""
    spoken = [(_SAID_BY.match(line), line) for line in map(str.strip, said)]
    return "\n".join(
        line[match.end() if match else 0 :].strip('"')
        for match, line in spoken
        if match is None or match[1] != _ASSISTANT
    )


def _conversation(
    name: str, turns: tuple[Turn, ...], questions: Iterator[tuple[str, frozenset[str], str]]
) -> Conversation:
    """Without questions whose evidence is not among the turns."""
    known = {turn.turn_id for turn in turns}
    asked = tuple(
        Asked(question, gold & known, category)
        for question, gold, category in questions
        if question and gold & known
    )
    return Conversation(name, turns, asked)


def _read(path: Path) -> list[Any]:
    """A JSON list, or an object a line."""
    raw = path.read_text()
    try:
        found = json.loads(raw)
    except json.JSONDecodeError:
        return [json.loads(line) for line in raw.splitlines() if line.strip()]
    return found if isinstance(found, list) else [found]


_LOADERS: dict[str, Callable[[Path], Iterator[Conversation]]] = {
    "locomo": _locomo,
    "memdaily": _memdaily,
    "madial-zh": lambda data: _madial(data, "zh"),
    "madial-en": lambda data: _madial(data, "en"),
}
SETS = tuple(_LOADERS)
