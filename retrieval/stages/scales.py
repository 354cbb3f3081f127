"""Scores of unlike scorers on one scale, so that they can be added."""

from collections.abc import Mapping, Sequence
from statistics import median

# Cosines of unrelated texts lie this close below the best one when there is nothing to compare.
SMALLEST_COSINE_SPREAD = 0.05


def from_zero(scores: Sequence[float]) -> list[float]:
    """Best 1. Most documents of a memory have no term at all: the median of words is zero."""
    best = max(scores, default=0.0)
    return [score / best if best > 0 else 0.0 for score in scores]


def from_median(scores: Sequence[float | None]) -> list[float]:
    """Median 0, best 1; what has no score is as good as the median."""
    known = [score for score in scores if score is not None]
    if not known:
        return [0.0] * len(scores)
    best = max(known)
    low = min(median(known), best - SMALLEST_COSINE_SPREAD)
    return [0.0 if score is None else (score - low) / (best - low) for score in scores]


def spread(scores: Mapping[str, float], *, least: float = 0.0) -> dict[str, float]:
    """Median 0, best 1, or less where its lead is below `least`; all 0 where none leads."""
    low, best = median(scores.values()), max(scores.values())
    if best <= low:
        return dict.fromkeys(scores, 0.0)
    lead = max(best - low, least)
    return {name: (score - low) / lead for name, score in scores.items()}
