"""What evidence is measured against, question by question."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retrieval.stages.calibration import QuestionTraits
from retrieval.stages.candidates import Candidates
from retrieval.stages.coverage import Unit, question_units, share_covered, traits_of
from retrieval.stages.subjects import Subject, asked_beside, subject_of
from retrieval.types import Intent, NodeRow, Question


@dataclass(frozen=True, slots=True)
class Yardstick:
    """`units` are all content units of the question, `asked` those beside its subject's name.

    `subject` is None where the name alone is asked about, the question is broad, or it names
    nothing known; then `asked` equals `units`.
    """

    question: Question
    units: list[Unit]
    asked: list[Unit]
    subject: Subject | None
    traits: QuestionTraits

    def share(self, present: Iterable[str]) -> float:
        """0..1: of what is asked. A text that lacks the subject's name covers less of it all."""
        held = frozenset(present)
        return min(share_covered(self.units, held), share_covered(self.asked, held))


def make_yardsticks(
    candidates: Candidates, *, intent: Intent, rows: Sequence[NodeRow]
) -> list[Yardstick]:
    return [
        _yardstick(question, candidates=candidates, intent=intent, rows=rows)
        for question in candidates.questions
    ]


def _yardstick(
    question: Question, *, candidates: Candidates, intent: Intent, rows: Sequence[NodeRow]
) -> Yardstick:
    units = question_units(question, candidates=candidates)
    subject = None
    asked: list[Unit] = []
    if not intent.is_broad:
        subject = subject_of(question, entities=intent.entities, rows=rows)
    if subject is not None:
        beside = asked_beside(question, spellings=subject.spellings)
        asked = question_units(beside, candidates=candidates)
    return Yardstick(
        question=question,
        units=units,
        asked=asked or units,
        subject=subject if asked else None,
        traits=traits_of(question, candidates=candidates),
    )
