"""The answer of a retrieval; `as_dict` is the JSON that clients rely on, key for key."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from retrieval.types import Hydrated, Intent, Judgement, NextSource, TimeRange


@dataclass(frozen=True, slots=True)
class PackItem:
    """`verification` is none, or the policy that asks for a check before use."""

    text: str
    evidence_ids: tuple[str, ...]
    freshness: str
    confidence: float
    verification: str = "none"


@dataclass(frozen=True, slots=True)
class NextStep:
    type: str
    source: NextSource | None
    reason: str


@dataclass(frozen=True, slots=True)
class RetrievalPack:
    known_facts: tuple[PackItem, ...]
    recent_high_signal_items: tuple[PackItem, ...]
    constraints: tuple[PackItem, ...]
    blockers: tuple[PackItem, ...]
    open_questions: tuple[PackItem, ...]
    recommended_next_source: NextSource | None
    recommended_next_step: NextStep


@dataclass(frozen=True, slots=True)
class AnswerGap:
    gap_id: UUID
    question: str
    kind: str
    reason: str
    suggested_source: NextSource | None


@dataclass(frozen=True, slots=True)
class Used:
    """Which means the answer rests on."""

    vector: bool
    lexical: bool
    summaries: bool
    rerank: bool
    model: bool


@dataclass(frozen=True, slots=True)
class Searched:
    """`nodes` are candidates, `tokens` those of all excerpts."""

    trees: int
    nodes: int
    bodies_read: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """`timings_ms` by stage; `candidates` in their final order with why each was kept or not."""

    timings_ms: Mapping[str, float]
    candidates: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class RetrieveAnswer:
    retrieval_id: UUID
    query: str
    intent: Intent
    pack: RetrievalPack
    evidence: tuple[Hydrated, ...]
    gaps: tuple[AnswerGap, ...]
    judgement: Judgement
    used: Used
    searched: Searched
    prompt: str
    degraded: tuple[str, ...]
    explanation: Explanation | None = field(default=None)

    def as_dict(self) -> dict[str, Any]:
        answer = {
            "retrieval_id": str(self.retrieval_id),
            "query": self.query,
            "intent": _intent(self.intent),
            "retrieval_pack": _pack(self.pack),
            "evidence": [evidence_dict(item) for item in self.evidence],
            "gaps": [_gap(gap) for gap in self.gaps],
            "coverage": self._coverage(),
            "prompt": self.prompt,
            "degraded": list(self.degraded),
        }
        if self.explanation is not None:
            answer["explain"] = {
                "timings_ms": dict(self.explanation.timings_ms),
                "candidates": [dict(item) for item in self.explanation.candidates],
            }
        return answer

    def _coverage(self) -> dict[str, Any]:
        return {
            "level": self.judgement.level,
            "score": round(self.judgement.score, 4),
            "per_question": [
                {
                    "question": item.question,
                    "level": item.level,
                    "score": item.score,
                    "evidence_ids": list(item.evidence_ids),
                }
                for item in self.judgement.per_question
            ],
            "used": asdict(self.used),
            "searched": asdict(self.searched),
        }


def moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


def range_dict(span: TimeRange | None) -> dict[str, str | None] | None:
    return None if span is None else {"from": moment(span.start), "to": moment(span.end)}


def _intent(intent: Intent) -> dict[str, Any]:
    reading = intent.reading
    return {
        "kind": reading.kind,
        "mode": reading.mode,
        "categories": list(intent.categories),
        "time_range": range_dict(reading.time_range),
        "entities": [match.name for match in intent.entities],
        "sub_questions": [question.text for question in reading.questions],
        "confidence": reading.confidence,
    }


def _pack(pack: RetrievalPack) -> dict[str, Any]:
    lists = ("known_facts", "recent_high_signal_items", "constraints", "blockers", "open_questions")
    step = pack.recommended_next_step
    return {
        **{name: [_item(item) for item in getattr(pack, name)] for name in lists},
        "recommended_next_source": _source(pack.recommended_next_source),
        "recommended_next_step": {
            "type": step.type,
            "source": None if step.source is None else step.source.kind,
            "reason": step.reason,
        },
    }


def _item(item: PackItem) -> dict[str, Any]:
    return {
        "text": item.text,
        "evidence_ids": list(item.evidence_ids),
        "freshness": item.freshness,
        "confidence": item.confidence,
        "verification": item.verification,
    }


def _source(source: NextSource | None) -> dict[str, str] | None:
    return None if source is None else asdict(source)


def _gap(gap: AnswerGap) -> dict[str, Any]:
    return {
        "gap_id": str(gap.gap_id),
        "question": gap.question,
        "kind": gap.kind,
        "reason": gap.reason,
        "suggested_source": _source(gap.suggested_source),
    }


def evidence_dict(item: Hydrated) -> dict[str, Any]:
    row = item.row
    return {
        "evidence_id": item.evidence_id,
        "node_kind": row.kind,
        "node_id": str(row.node_id),
        "tree_id": str(row.tree_id),
        "tree_key": row.tree_key,
        "category": row.category,
        "level": row.level,
        "title": row.title,
        "summary": row.summary,
        "excerpt": item.excerpt,
        "score": round(item.ranked.score, 4),
        "reasons": list(item.ranked.reasons),
        "observed_at": moment(row.end),
        "time_range": {"from": moment(row.start), "to": moment(row.end)},
        "status": row.status,
        "stale": item.stale,
        "freshness": item.freshness,
        "confidence": row.confidence,
        "verification_policy": row.verification_policy,
        "entities": [name for _, name in row.entities],
        "labels": list(row.labels),
        "citation": {
            "body_path": row.body_path,
            "body_sha256": row.body_sha256,
            "start": item.span[0],
            "end": item.span[1],
        },
        "children_count": row.children_count,
        "metadata": row.metadata,
        "sources": [
            {
                "event_id": str(source.event_id),
                "occurred_at": moment(source.occurred_at),
                "metadata": source.metadata,
            }
            for source in row.sources
        ],
    }
