"""A summary made of sentences that its children already hold; no word is invented."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from holamem.text.tokens import count_tokens
from workspaces.judging.base import ChildView, SummaryDraft
from workspaces.judging.leaf_words import MAX_LABELS, cut, joined, labels_of
from workspaces.judging.offline_admission import judge_sentence
from workspaces.judging.reading import (
    cleaned,
    content_terms,
    flat,
    likeness,
    sentences,
    values,
)

TITLE_CHARACTERS = 80
SUMMARY_CHARACTERS = 300
# How much of a sentence's worth is lost when it resembles one already chosen.
REPETITION_WEIGHT = 0.7
# A sentence with numbers, days or names tells more than its words alone show.
VALUE_BONUS = 0.15

_COURTESIES = frozenset(("acknowledgement", "small_talk", "question"))
_CITATION = re.compile(r"\s*\[[^\[\]\s]{4,64}\]\s*$")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    child: int
    position: int
    terms: frozenset[str]


def summarise(*, tree_title: str, children: Sequence[ChildView], token_budget: int) -> SummaryDraft:
    """Chooses central, different sentences up to `token_budget`, told in order of time.

    At least one sentence is kept whatever the budget. Raises ValueError without children or
    when none of them holds any text.
    """
    ordered = sorted(children, key=lambda child: (child.observed_at, child.node_id))
    pool = [sentence for index, child in enumerate(ordered) for sentence in _read(child, index)]
    if not pool:
        raise ValueError("There is no text to summarise.")
    chosen = _choose(pool, ordered, token_budget)
    told = sorted(chosen, key=lambda sentence: (sentence.child, sentence.position))
    body = "\n".join(_bullet(sentence, ordered[sentence.child].node_id) for sentence in told)
    labels = _labels(told)
    return SummaryDraft(
        title=_title(tree_title, labels),
        summary=cut(joined([sentence.text for sentence in chosen[:2]]), limit=SUMMARY_CHARACTERS),
        body=body,
        labels=labels,
    )


def _read(child: ChildView, index: int) -> list[_Sentence]:
    """The sentences of a leaf, or the bullets of a summary without their citations."""
    if child.kind == "summary":
        lines = [line for line in child.text.splitlines() if _BULLET.match(line)]
    else:
        lines = [line for line in sentences(child.text) if not line.startswith("#")]
    texts = [flat(_CITATION.sub("", _BULLET.sub("", line))) for line in lines]
    return [
        _Sentence(text, index, position, content_terms(text))
        for position, text in enumerate(_telling(texts))
        if text
    ]


def _telling(texts: Sequence[str]) -> Sequence[str]:
    """Without thanks, praise and questions around what is told; all when there is nothing else."""
    if len(texts) < 2:
        return texts
    return [t for t in texts if judge_sentence(cleaned(t)).reason not in _COURTESIES] or texts


def _bullet(sentence: _Sentence, node_id: str) -> str:
    return f"- {sentence.text} [{node_id}]"


def _choose(
    pool: Sequence[_Sentence], children: Sequence[ChildView], token_budget: int
) -> list[_Sentence]:
    """Greedy, most useful first; every child is heard once before any is heard twice."""
    weights = _weights(pool)
    worth = {id(sentence): _worth(sentence, weights) for sentence in pool}
    # Kept up to date, since comparing all with all again for each choice takes cubic time.
    likest = {id(sentence): 0.0 for sentence in pool}
    left, chosen, spent = list(pool), list[_Sentence](), 0
    while left:
        heard = Counter(sentence.child for sentence in chosen)
        best = max(
            left,
            key=lambda s: (
                -heard[s.child],
                worth[id(s)] - REPETITION_WEIGHT * likest[id(s)],
                -s.child,
            ),
        )
        left.remove(best)
        cost = count_tokens(_bullet(best, children[best.child].node_id))
        if chosen and (spent + cost > token_budget or _is_told(best, chosen)):
            continue
        chosen.append(best)
        spent += cost
        for other in left:
            likest[id(other)] = max(likest[id(other)], likeness(other.terms, best.terms))
    return chosen


def _weights(pool: Sequence[_Sentence]) -> dict[str, float]:
    """Terms that several sentences share are central; those in all of them say nothing new."""
    counts = Counter(term for sentence in pool for term in sentence.terms)
    total = len(pool)
    return {term: log(1 + n) * log(1 + total / n) for term, n in counts.items()}


def _worth(sentence: _Sentence, weights: dict[str, float]) -> float:
    if not sentence.terms:
        return 0.0
    mean = sum(weights[term] for term in sentence.terms) / len(sentence.terms)
    top = max(weights.values())
    return mean / top + (VALUE_BONUS if values(sentence.text) else 0.0)


def _is_told(sentence: _Sentence, chosen: Sequence[_Sentence]) -> bool:
    return any(sentence.text == other.text for other in chosen)


def _labels(told: Sequence[_Sentence]) -> tuple[str, ...]:
    """The words that most sentences share."""
    counts = Counter(label for sentence in told for label in labels_of(sentence.text, names=()))
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(label for label, _ in ranked[:MAX_LABELS])


def _title(tree_title: str, labels: Sequence[str]) -> str:
    named = [label for label in labels if label not in tree_title.casefold()][:3]
    joined = f"{tree_title}: {', '.join(named)}" if named else tree_title
    return cut(joined, limit=TITLE_CHARACTERS)
