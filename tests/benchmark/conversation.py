"""A long conversation of two people, with questions whose evidence is known turn by turn."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FILE = Path("locomo", "locomo6.json")
TIME_FORMAT = "%I:%M %p on %d %B, %Y"  # "1:56 pm on 8 May, 2023"


@dataclass(frozen=True, slots=True)
class Turn:
    """`session` counts from 1; turns of a session share the time at which it began."""

    id: str
    session: int
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    def beginning(self, *, sessions: int) -> "Conversation":
        """The first sessions, and the questions whose evidence lies in them alone."""
        turns = tuple(turn for turn in self.turns if turn.session <= sessions)
        known = {turn.id for turn in turns}
        return Conversation(turns, tuple(q for q in self.questions if q.evidence <= known))


def read_conversation(folder: Path, *, number: int) -> Conversation:
    """Conversation `number` (from 0) of the file; questions without evidence are left out."""
    entry = json.loads((folder / FILE).read_text())[number]
    questions = (
        Question(str(item["question"]), frozenset(_turn_ids(item["evidence"])))
        for item in entry["qa"]
    )
    return Conversation(
        turns=tuple(_turns(entry["conversation"])),
        questions=tuple(question for question in questions if question.evidence),
    )


def _turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    session = 1
    while turns := conversation.get(f"session_{session}"):
        began = _moment(conversation[f"session_{session}_date_time"])
        for turn in turns:
            yield Turn(
                id=turn["dia_id"],
                session=session,
                speaker=turn["speaker"],
                text=_text(turn),
                at=began,
            )
        session += 1


def _moment(text: str) -> datetime:
    return datetime.strptime(text, TIME_FORMAT).replace(tzinfo=UTC)


def _text(turn: dict[str, Any]) -> str:
    """A picture counts through its caption, since some answers are only there."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [image: {caption}]" if caption else turn["text"]


def _turn_ids(evidence: list[str]) -> Iterator[str]:
    """Entries may hold several ids ("D8:6; D9:17") and padded numbers ("D30:05")."""
    for entry in evidence:
        for session, turn in re.findall(r"D(\d+):(\d+)", entry):
            yield f"D{int(session)}:{int(turn)}"
