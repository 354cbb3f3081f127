"""What makes a candidate fit one question: each rule gives every candidate 0..1, or little more.

Rules were chosen on LoCoMo conversations (English) by fitting them on some and ranking others,
then rounded, and checked on MemDaily and MADial (Chinese and English); they are the same for all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from retrieval.stages import cues
from retrieval.stages.candidates import Candidates
from retrieval.stages.scales import from_median, from_zero
from retrieval.stages.surroundings import Surroundings, best_of
from retrieval.stages.words import bm25_scores, held_terms, share_of, term_weights
from retrieval.types import Question
from workspaces.index.search import FoundNode


@dataclass(frozen=True, slots=True)
class QuestionView:
    """One question with its candidates; `words` and `vectors` follow the nodes, best 1.

    `held` follows them too: the places of the question's terms that each of them names.
    """

    question: Question
    nodes: Sequence[FoundNode]
    around: Surroundings
    weights: dict[int, float]
    held: Sequence[frozenset[int]]
    words: Sequence[float]
    vectors: Sequence[float]


def view_of(candidates: Candidates, *, index: int, around: Surroundings) -> QuestionView:
    nodes = candidates.found.nodes
    question = candidates.questions[index]
    weights = term_weights(candidates, question=question)
    cosines = [node.cosines[index] if index < len(node.cosines) else None for node in nodes]
    return QuestionView(
        question=question,
        nodes=nodes,
        around=around,
        weights=weights,
        held=[held_terms(node, weights=weights) for node in nodes],
        words=from_zero(bm25_scores(nodes, weights=weights)),
        vectors=from_median(cosines),
    )


def by_words(view: QuestionView) -> list[float]:
    """BM25 of the leaf's own text."""
    return list(view.words)


def by_meaning(view: QuestionView) -> list[float]:
    """Cosine of the leaf's own text."""
    return list(view.vectors)


def by_covered_terms(view: QuestionView) -> list[float]:
    """The share of the question that the leaf names together with the turns around it.

    A turn is often understood only beside its neighbours. Counting terms instead of adding
    the neighbours' scores keeps one strong turn from lifting two that add nothing to it.
    """
    together = [
        own.union(*(view.held[other] for other in view.around.around(place)))
        for place, own in enumerate(view.held)
    ]
    return _shares(together, view=view)


def by_own_terms(view: QuestionView) -> list[float]:
    """The share of the question that the leaf names by itself."""
    return _shares(view.held, view=view)


def _shares(held: Sequence[frozenset[int]], *, view: QuestionView) -> list[float]:
    """Many candidates name the same few terms."""
    known = {terms: share_of(terms, weights=view.weights) for terms in set(held)}
    return [known[terms] for terms in held]


def by_meaning_before(view: QuestionView) -> list[float]:
    """What was said just before is near in meaning."""
    return [max(0.0, best_of(view.vectors, places)) for places in view.around.before]


def by_meaning_after(view: QuestionView) -> list[float]:
    """What was said next is near in meaning: the reaction names what the leaf only tells."""
    return [max(0.0, best_of(view.vectors, places)) for places in view.around.after]


def by_answering(view: QuestionView) -> list[float]:
    """The turn before put the same question, so this one answers it, in words of its own."""
    return [
        max((_put_to(view, other) for other in places), default=0.0)
        for places in view.around.before
    ]


def _put_to(view: QuestionView, place: int) -> float:
    if not view.nodes[place].asks:
        return 0.0
    return view.words[place] + max(0.0, view.vectors[place])


def by_saying_when(view: QuestionView) -> list[float]:
    """Asked when, a statement that names a time is likelier the answer."""
    asks_when = cues.WHEN.search(view.question.text) is not None
    return [float(asks_when and node.names_time) for node in view.nodes]


Rule = Callable[[QuestionView], list[float]]

# The names of the first two are those of the reasons that an answer shows.
RULES: dict[str, tuple[float, Rule]] = {
    "lexical": (0.7, by_words),
    "vector": (0.55, by_meaning),
    "covered": (0.8, by_covered_terms),
    "own_terms": (0.1, by_own_terms),
    "before": (0.1, by_meaning_before),
    "neighbour": (0.4, by_meaning_after),
    "answers": (0.62, by_answering),
    "says_when": (0.68, by_saying_when),
}
