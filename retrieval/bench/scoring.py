"""How good a ranking is, against the turns that a data set names as evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

CUTS = (1, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one question, each 0..1. `recall` and `hit` follow CUTS; sessions rank by best turn."""

    recall: tuple[float, ...]
    hit: tuple[float, ...]
    mrr: float
    ndcg_10: float
    session_hit_1: float
    session_recall_10: float


def score_ranking(
    ranked: Sequence[str], *, gold: frozenset[str], session_of: dict[str, str]
) -> Scores:
    """`ranked` holds turn ids, best first; repeats count once. `gold` is never empty."""
    turns = list(dict.fromkeys(ranked))
    sessions = list(dict.fromkeys(session_of[turn] for turn in turns))
    wanted = {session_of[turn] for turn in gold}
    return Scores(
        recall=tuple(len(gold.intersection(turns[:cut])) / len(gold) for cut in CUTS),
        hit=tuple(float(not gold.isdisjoint(turns[:cut])) for cut in CUTS),
        mrr=next((1 / place for place, turn in enumerate(turns, 1) if turn in gold), 0.0),
        ndcg_10=_gain(turns[:10], gold) / sum(1 / log2(n + 2) for n in range(min(len(gold), 10))),
        session_hit_1=float(not wanted.isdisjoint(sessions[:1])),
        session_recall_10=len(wanted.intersection(sessions[:10])) / len(wanted),
    )


def _gain(turns: Sequence[str], gold: frozenset[str]) -> float:
    return sum(1 / log2(place + 2) for place, turn in enumerate(turns) if turn in gold)


def area_under_curve(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The chance that a positive score is above a negative one; ties count half.

    Raises ValueError where there is nothing to compare.
    """
    if not positive or not negative:
        raise ValueError("There is nothing to compare.")
    above = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    return above / (len(positive) * len(negative))
