"""How well candidates match a question by their words."""

from collections import defaultdict
from collections.abc import Sequence
from math import log

from retrieval.stages.candidates import Candidates
from retrieval.types import Question
from workspaces.index.search import FoundNode
from workspaces.index.search_sql import K1, B


def idf(frequency: int, documents: int) -> float:
    """How rare a term is, in nats; never negative, largest for a term that no document holds."""
    return log(1 + (max(documents, frequency) - frequency + 0.5) / (frequency + 0.5))


def term_weights(candidates: Candidates, *, question: Question) -> dict[int, float]:
    """Place of a term of the question in `FoundNode.term_counts` -> its rarity."""
    found = candidates.found
    wanted = set(question.terms)
    return {
        place: idf(found.document_frequencies[place], found.documents)
        for place, term in enumerate(candidates.terms)
        if term in wanted
    }


def bm25_scores(nodes: Sequence[FoundNode], *, weights: dict[int, float]) -> list[float]:
    """BM25 of each node, exact frequencies; lengths are compared within leaves or summaries."""
    means = _mean_lengths(nodes)
    scores = []
    for node in nodes:
        norm = K1 * (1 - B + B * node.length / means[node.kind])
        counts = ((weight, node.term_counts[place]) for place, weight in weights.items())
        scores.append(sum(w * n * (K1 + 1) / (n + norm) for w, n in counts if n))
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
