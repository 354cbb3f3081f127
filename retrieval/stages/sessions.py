"""Sessions ranked as one text each: routing by the larger unit, then drilling down.

On LoCoMo it brought 3 points of nDCG and 4 of the best session's hits; the meaning of its best
turn half a point of the latter.
"""

from collections import defaultdict
from collections.abc import Sequence

from retrieval.stages.candidates import Candidates
from retrieval.stages.scales import spread
from retrieval.stages.words import rarities
from workspaces.index.search import FoundNode
from workspaces.index.search_sql import K1

# A session of one turn would count that turn's words twice (MADial: 62 instead of 57 of recall
# at 10).
SMALLEST_SESSION = 2
# A session that is ahead of the others by less than this share of what all of the question's
# terms would bring is the best of nothing (Chinese messages: +1.2 of recall at 10, +0.6 of nDCG).
LEAST_LEAD = 0.15


def session_scores(candidates: Candidates) -> dict[str, float]:
    """By session: 0 for the median, 1 for the best or less where it says little of what is asked.

    From the words of its candidates; empty where there is nothing to choose from.
    """
    turns: dict[str, list[FoundNode]] = defaultdict(list)
    for node in candidates.found.nodes:
        if node.session_ref and node.term_counts:
            turns[node.session_ref].append(node)
    weights = rarities(candidates)
    scores = {
        session: _score(nodes, weights=weights) if len(nodes) >= SMALLEST_SESSION else 0.0
        for session, nodes in turns.items()
    }
    least = LEAST_LEAD * sum(weights) * (K1 + 1)
    return spread(scores, least=least) if len(scores) >= 2 else {}


def session_meanings(candidates: Candidates) -> dict[str, float]:
    """By session: 0 for the median, 1 for the best; from the turn that is nearest in meaning."""
    found: dict[str, list[float]] = defaultdict(list)
    for node in candidates.found.nodes:
        if node.session_ref and node.kind == "leaf":
            known = [cosine for cosine in node.cosines if cosine is not None]
            found[node.session_ref].append(max(known, default=0.0))
    known_sessions = {s: max(v) for s, v in found.items() if len(v) >= SMALLEST_SESSION and max(v)}
    return spread(known_sessions) if len(known_sessions) >= 2 else {}


def _score(nodes: list[FoundNode], *, weights: Sequence[float]) -> float:
    """BM25 of all the turns together, whatever their length."""
    score = 0.0
    for place, weight in enumerate(weights):
        count = sum(node.term_counts[place] for node in nodes)
        if count:
            score += weight * count * (K1 + 1) / (count + K1)
    return score
