"""How well candidates match a question by their words."""

from collections import defaultdict
from collections.abc import Sequence
from math import log

from holamem.text.telling import telling
from retrieval.stages.candidates import Candidates
from retrieval.types import Question
from workspaces.index.search import FoundNode
from workspaces.index.search_sql import K1, B

# The last line of a pasted conversation says what it came to (MADial: +1.2 of recall at 10 and
# +2.2 of MRR in Chinese, +0.5 and +0.9 in English).
LAST_LINE = 2.0


def idf(frequency: int, documents: int) -> float:
    """How rare a term is, in nats; never negative, largest for a term that no document holds."""
    return log(1 + (max(documents, frequency) - frequency + 0.5) / (frequency + 0.5))


def rarities(candidates: Candidates) -> list[float]:
    """How much each of the searched terms tells texts of this memory apart, in their order."""
    found = candidates.found
    return [
        idf(frequency, found.documents) * telling(term)
        for term, frequency in zip(candidates.terms, found.document_frequencies, strict=True)
    ]


def term_weights(candidates: Candidates, *, question: Question) -> dict[int, float]:
    """Place of a term of the question in `FoundNode.term_counts` -> its rarity."""
    wanted = set(question.terms)
    placed = zip(candidates.terms, rarities(candidates), strict=True)
    return {
        place: weight * (LAST_LINE if term in question.last_terms else 1.0)
        for place, (term, weight) in enumerate(placed)
        if term in wanted
    }


def bm25_scores(nodes: Sequence[FoundNode], *, weights: dict[int, float]) -> list[float]:
    """BM25 of each node, exact frequencies; lengths are compared within leaves or summaries."""
    means = _mean_lengths(nodes)
    scores = []
    for node in nodes:
        counts = node.term_counts
        norm = K1 * (1 - B + B * node.length / means[node.kind])
        held = [(weight, counts[place]) for place, weight in weights.items() if counts[place]]
        scores.append(sum(w * n * (K1 + 1) / (n + norm) for w, n in held) if held else 0.0)
    return scores


def _mean_lengths(nodes: Sequence[FoundNode]) -> dict[str, float]:
    lengths = defaultdict(list)
    for node in nodes:
        lengths[node.kind].append(node.length)
    return {kind: max(sum(values) / len(values), 1.0) for kind, values in lengths.items()}


def held_terms(node: FoundNode, *, weights: dict[int, float]) -> frozenset[int]:
    """The places of the question's terms that the node holds."""
    return frozenset(place for place in weights if node.term_counts[place])


def share_of(held: frozenset[int], *, weights: dict[int, float]) -> float:
    """0..1: how much of what the question names is held, the rarer the more; 0 for no terms."""
    total = sum(weights.values())
    return sum(weights[place] for place in held) / total if total > 0 else 0.0
