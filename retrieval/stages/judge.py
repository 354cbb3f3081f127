"""Stage 8: is the evidence enough, question by question, and what is missing?"""

from collections.abc import Sequence

from holamem.providers.embed_local import MODEL_NAME
from holamem.text.languages import language_of
from holamem.text.segment import query_terms
from retrieval.stages.calibration import LOW_BELOW, NONE_BELOW, level_of, with_agreement
from retrieval.stages.candidates import Candidates
from retrieval.stages.conflicts import conflicting_pair
from retrieval.stages.next_source import suggest_source
from retrieval.stages.phrases import phrase
from retrieval.types import (
    FoundGap,
    GapKind,
    Hydrated,
    Intent,
    Judgement,
    Lookups,
    NextSource,
    Question,
    QuestionCoverage,
)

# A name that no document holds: whatever else matches, it is about something else. Shares, not
# caps: among weak answers the better one stays the better one.
UNKNOWN_NAME_SHARE = 0.35
# Of evidence that does not speak of the time that is asked about; below the floor at its best.
UNTIMELY_SHARE = 0.24
# Evidence of this share of the best one's support belongs to the answer too; to an exact
# question only if it covers nearly as much of what is asked as the best one.
SUPPORT_SHARE = 0.6
EXACT_SUPPORT_SHARE = 0.75
EXACT_COVERED_SHARE = 0.75
# A leaf that was admitted with less confidence than this is no firm ground.
FIRM_CONFIDENCE = 0.55


def judge(
    evidence: Sequence[Hydrated],
    *,
    candidates: Candidates,
    intent: Intent,
    known: Lookups,
    found_outside: bool,
) -> Judgement:
    """`found_outside`: nothing matched in the request's time range, but something does outside."""
    per_question = tuple(
        _coverage(index, question, evidence=evidence, candidates=candidates, intent=intent)
        for index, question in enumerate(candidates.questions)
    )
    gaps = [
        _gap(
            index,
            coverage,
            evidence=evidence,
            candidates=candidates,
            source=source,
            outside=found_outside,
        )
        for index, coverage in enumerate(per_question)
        for source in [suggest_source(coverage.question, known=known, evidence=evidence)]
    ]
    found = tuple(gap for gap in gaps if gap is not None)
    score = _overall([item.score for item in per_question])
    return Judgement(
        level=level_of(score),
        score=score,
        per_question=per_question,
        gaps=found,
        next_source=found[0].suggested_source if found else None,
    )


def _overall(scores: Sequence[float]) -> float:
    """The mean; a query of which one question is answered is covered in part, not barely."""
    mean = sum(scores) / len(scores)
    return max(mean, LOW_BELOW) if max(scores) >= LOW_BELOW else mean


def best_support(evidence: Sequence[Hydrated]) -> float:
    """The weakest question's best evidence; 0 without evidence."""
    if not evidence:
        return 0.0
    questions = range(len(evidence[0].supports))
    return min(max(item.supports[index] for item in evidence) for index in questions)


def _coverage(
    index: int,
    question: Question,
    *,
    evidence: Sequence[Hydrated],
    candidates: Candidates,
    intent: Intent,
) -> QuestionCoverage:
    timely = [item for item in evidence if item.in_time[index]]
    best = max((item.supports[index] for item in timely), default=0.0)
    anytime = max((item.supports[index] for item in evidence), default=0.0)
    score = max(best, UNTIMELY_SHARE * anytime)
    if not intent.is_broad and candidates.model_name == MODEL_NAME:
        score = with_agreement(
            score,
            language=language_of(question.text),
            agreement=_agreement(evidence, index=index),
        )
    if _names_unknown(question, candidates=candidates, intent=intent):
        score *= UNKNOWN_NAME_SHARE
    if intent.is_broad:
        answering = _supporting(timely, index=index, floor=SUPPORT_SHARE * best)
    else:
        answering = _nearly_best(timely, index=index, best=best)
    ids = tuple(item.evidence_id for item in answering)
    return QuestionCoverage(question.text, level_of(score), round(score, 4), ids)


def _agreement(evidence: Sequence[Hydrated], *, index: int) -> float:
    """The best fused score of the question's own rules."""
    scores = [item.ranked.question_scores[index : index + 1] for item in evidence]
    return max((score for found in scores for score in found), default=0.0)


def _supporting(evidence: Sequence[Hydrated], *, index: int, floor: float) -> list[Hydrated]:
    least = max(floor, NONE_BELOW)
    return [item for item in evidence if item.supports[index] >= least]


def _nearly_best(evidence: Sequence[Hydrated], *, index: int, best: float) -> list[Hydrated]:
    """Each suffices by itself, as far as anything does, and covers what the best one covers."""
    floor = max(EXACT_SUPPORT_SHARE * best, LOW_BELOW if best >= LOW_BELOW else 0.0)
    found = _supporting(evidence, index=index, floor=floor)
    covered = max((i.shares[index] for i in found if i.supports[index] == best), default=0.0)
    return [item for item in found if item.shares[index] >= EXACT_COVERED_SHARE * covered]


def _names_unknown(question: Question, *, candidates: Candidates, intent: Intent) -> bool:
    """Whether the question names something that no document and no entity is called."""
    known = {match.name.casefold() for match in intent.entities}
    for name in question.names:
        terms = query_terms(name)
        unheard = terms and all(candidates.frequency_of(term) == 0 for term in terms)
        if unheard and name not in known and set(terms) <= set(candidates.terms):
            return True
    return False


def _gap(
    index: int,
    coverage: QuestionCoverage,
    *,
    evidence: Sequence[Hydrated],
    candidates: Candidates,
    source: NextSource,
    outside: bool,
) -> FoundGap | None:
    reading = _gap_kind(index, coverage, evidence=evidence, outside=outside)
    if reading is None:
        return None
    kind, reason = reading
    question = candidates.questions[index]
    vector = candidates.vectors[index] if index < len(candidates.vectors) else None
    return FoundGap(
        question=question.text,
        kind=kind,
        reason=reason,
        suggested_source=source,
        terms=question.topic_terms or question.terms,
        vector=vector,
        names=question.names,
    )


def _gap_kind(
    index: int, coverage: QuestionCoverage, *, evidence: Sequence[Hydrated], outside: bool
) -> tuple[GapKind, str] | None:
    asked = coverage.question
    answering = [item for item in evidence if item.evidence_id in coverage.evidence_ids]
    if coverage.score < LOW_BELOW:
        untimely = [item.supports[index] for item in evidence if not item.in_time[index]]
        if outside or max(untimely, default=0.0) >= LOW_BELOW:
            return "outside_time_range", phrase("outside_time", asked=asked)
        return "missing", _missing_reason(coverage)
    conflict = conflicting_pair(answering)
    if conflict is not None:
        first, second = (item.evidence_id for item in conflict)
        return "conflicting", phrase("conflict", asked=asked, first=first, second=second)
    if all(item.stale for item in answering):
        return "stale", phrase("stale", asked=asked)
    if max(item.row.confidence for item in answering) < FIRM_CONFIDENCE:
        return "low_confidence", phrase("little_confidence", asked=asked)
    return None


def _missing_reason(coverage: QuestionCoverage) -> str:
    key = "nothing" if coverage.level == "none" else "loosely_related"
    return phrase(key, asked=coverage.question)
