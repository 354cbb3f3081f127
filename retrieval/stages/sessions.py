"""Sessions ranked as one text each: routing by the larger unit, then drilling down.

On LoCoMo it brought 3 points of nDCG and 4 of the best session's hits; the meaning of its best
turn half a point of the latter.
"""

from collections import defaultdict

from retrieval.stages.candidates import Candidates
from retrieval.stages.scales import spread
from retrieval.stages.words import idf
from workspaces.index.search import FoundNode
from workspaces.index.search_sql import K1

# A session of one turn would count that turn's words twice (MADial: 62 instead of 57 of recall
# at 10).
SMALLEST_SESSION = 2


def session_scores(candidates: Candidates) -> dict[str, float]:
    """By session: 0 for the median, 1 for the best; from the words of its candidates.

    Empty where there is nothing to choose from.
    """
    turns: dict[str, list[FoundNode]] = defaultdict(list)
    for node in candidates.found.nodes:
        if node.session_ref and node.term_counts:
            turns[node.session_ref].append(node)
    scores = {
        session: _score(nodes, candidates=candidates) if len(nodes) >= SMALLEST_SESSION else 0.0
        for session, nodes in turns.items()
    }
    return spread(scores) if len(scores) >= 2 else {}


def session_meanings(candidates: Candidates) -> dict[str, float]:
    """By session: 0 for the median, 1 for the best; from the turn that is nearest in meaning."""
    found: dict[str, list[float]] = defaultdict(list)
    for node in candidates.found.nodes:
        if node.session_ref and node.kind == "leaf":
            known = [cosine for cosine in node.cosines if cosine is not None]
            found[node.session_ref].append(max(known, default=0.0))
    known_sessions = {s: max(v) for s, v in found.items() if len(v) >= SMALLEST_SESSION and max(v)}
    return spread(known_sessions) if len(known_sessions) >= 2 else {}


def _score(nodes: list[FoundNode], *, candidates: Candidates) -> float:
    """BM25 of all the turns together, whatever their length."""
    found = candidates.found
    score = 0.0
    for place, frequency in enumerate(found.document_frequencies):
        count = sum(node.term_counts[place] for node in nodes)
        if count:
            score += idf(frequency, found.documents) * count * (K1 + 1) / (count + K1)
    return score
