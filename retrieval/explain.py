"""How an answer came about, for people who ask for it."""

from typing import Any

from retrieval.answer import Explanation
from retrieval.investigate import Findings
from retrieval.trace import Trace
from retrieval.types import Hydrated, Ranked


def explain(found: Findings, *, trace: Trace) -> Explanation:
    """Every candidate with its place, what made its score, and why it was kept or dropped."""
    kept = {item.row.node_id: item for item in found.evidence}
    return Explanation(
        timings_ms=dict(trace.timings_ms),
        candidates=[
            _candidate(rank, item, kept.get(item.node_id))
            for rank, item in enumerate(found.ranked, 1)
        ],
    )


def _candidate(rank: int, item: Ranked, evidence: Hydrated | None) -> dict[str, Any]:
    return {
        "rank": rank,
        "node_id": str(item.node_id),
        "node_kind": item.kind,
        "score": round(item.score, 4),
        "parts": {name: round(value, 4) for name, value in item.parts.items()},
        "cosines": [None if value is None else round(value, 4) for value in item.cosines],
        "reasons": list(item.reasons),
        "kept": evidence is not None,
        "evidence_id": evidence.evidence_id if evidence else None,
        "supports": [round(value, 4) for value in evidence.supports] if evidence else [],
        "dropped": item.dropped or ("" if evidence else "unreadable"),
    }
