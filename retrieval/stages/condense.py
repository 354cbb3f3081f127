"""What an answer need not say twice: near-duplicates, and summaries of leaves that it shows."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from holamem.text.normalise import normalise
from retrieval.stages.conflicts import values_of
from retrieval.stages.coverage import terms_of
from retrieval.stages.excerpts import cut_matching
from retrieval.types import Hydrated

_NUMBER = re.compile(r"\d+")
# Of summaries to a broad question; their leaves say the rest.
BEST_SENTENCES = 2
OTHER_SENTENCES = 1
# Of those, what covers this share of what the best sentence of all does.
MATCHING_SHARE = 0.5
# Two leaves with this share of their words in common, and the same values, say the same.
SAME_WORDS = 0.9


def without_repeats(evidence: Sequence[Hydrated]) -> list[Hydrated]:
    """Without leaves that say what a better one says. Those of another status stay."""
    kept: list[Hydrated] = []
    told: dict[str, list[str]] = defaultdict(list)  # by status, what the kept leaves say
    for item in evidence:
        if item.row.kind == "leaf":
            text, others = _text(item), told[item.row.status]
            if any(_say_the_same(text, other) for other in others):
                continue
            others.append(text)
        kept.append(item)
    return kept


def _say_the_same(text: str, other: str) -> bool:
    words, other_words = terms_of(text), terms_of(other)
    if not words or len(words & other_words) < SAME_WORDS * len(words | other_words):
        return False
    if _NUMBER.findall(text) != _NUMBER.findall(other):
        return False
    return values_of(text) == values_of(other)


def _text(item: Hydrated) -> str:
    return " ".join(sentence.text for sentence in item.sentences)


def with_short_summaries(evidence: Sequence[Hydrated]) -> list[Hydrated]:
    """The best summary shows what matches; others what neither leaves nor they have shown.

    A summary with nothing new is left out. Where no leaf is shown, summaries say it all.
    """
    leaves = [item for item in evidence if item.row.kind == "leaf"]
    if not leaves:
        return list(evidence)
    best = max(map(_best, evidence), default=0.0)
    told = {normalise(s.text) for item in leaves for s in item.sentences}
    shown: frozenset[str] = frozenset()  # the best summary may repeat its leaves
    kept: list[Hydrated] = []
    for item in evidence:
        if item.row.kind == "leaf":
            kept.append(item)
            continue
        text, span = cut_matching(
            item.sentences,
            limit=OTHER_SENTENCES if shown else BEST_SENTENCES,
            least=MATCHING_SHARE * best if shown else min(MATCHING_SHARE * best, _best(item)),
            shown=shown,
        )
        if text:
            kept.append(replace(item, excerpt=text, span=span))
            told |= {normalise(s.text) for s in item.sentences if s.text in text}
        shown = frozenset(told)
    return kept


def _best(item: Hydrated) -> float:
    """The share of a question that its best sentence covers."""
    return max((max(s.shares, default=0.0) for s in item.sentences), default=0.0)


def renumbered(evidence: Sequence[Hydrated]) -> list[Hydrated]:
    """E1, E2 and so on in their order."""
    return [replace(item, evidence_id=f"E{n}") for n, item in enumerate(evidence, 1)]
