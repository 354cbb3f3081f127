"""Sentences of a body with what they cover, and the excerpt around the best of them."""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise

from holamem.text.normalise import normalise
from holamem.text.sentences import split_sentences
from holamem.text.tokens import count_tokens, truncate
from retrieval.stages.coverage import Unit, share_covered, terms_of
from retrieval.types import Sentence

# An excerpt of one node; longer bodies are cut around what matched.
EXCERPT_TOKENS = 320
KEPT_BODIES = 1024

# Summary bullets cite their children by id; people and models read the sentence only.
_CITATION = re.compile(r"\s*\[[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}(?:\s*,\s*[0-9a-fA-F-]{36})*\]")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+", re.MULTILINE)


def cut_sentences(body: str, *, units: Sequence[Sequence[Unit]]) -> tuple[Sentence, ...]:
    """The body's sentences in order; `units` holds the units of each question."""
    return tuple(
        Sentence(start, end, text, tuple(share_covered(wanted, terms_of(text)) for wanted in units))
        for start, end, text in _shown_sentences(body)
    )


@lru_cache(maxsize=KEPT_BODIES)
def _shown_sentences(body: str) -> tuple[tuple[int, int, str], ...]:
    """Start, end and text of those that show something. Bodies never change."""
    found = ((s.start, s.end, clean(body[s.start : s.end])) for s in split_sentences(body))
    return tuple(one for one in found if one[2])


def clean(text: str) -> str:
    """A sentence as it is shown: no citation ids, no bullet."""
    return _BULLET.sub("", _CITATION.sub("", text)).strip()


def cut_excerpt(
    body: str, sentences: Sequence[Sentence], *, tokens: int
) -> tuple[str, tuple[int, int]]:
    """Text of at most `tokens` around the best sentence, and where it stands in the body."""
    limit = min(tokens, EXCERPT_TOKENS)
    if not sentences or limit <= 0:
        return "", (0, 0)
    first, last = _window(sentences, limit=limit)
    start, end = sentences[first].start, sentences[last].end
    text = clean(body[start:end])
    if count_tokens(text) <= limit:
        return text, (start, end)
    shortened = truncate(text, limit)
    return shortened, (start, min(end, start + len(shortened)))


def cut_matching(
    sentences: Sequence[Sentence], *, limit: int, least: float, shown: Collection[str]
) -> tuple[str, tuple[int, int]]:
    """The few sentences that match best, in their order; none of those `shown` (normalised).

    `least` (0..1) is the share of the question that a sentence has to cover.

    Between sentences that do not follow each other stands an ellipsis; the place is that of all.
    """
    covered = [max(sentence.shares, default=0.0) for sentence in sentences]
    new = [
        place
        for place, item in enumerate(sentences)
        if covered[place] >= least and normalise(item.text) not in shown
    ]
    new.sort(key=lambda place: (-covered[place], place))
    chosen = sorted(new[:limit])
    if not chosen:
        return "", (0, 0)
    text = sentences[chosen[0]].text
    for before, place in pairwise(chosen):
        gap = "\n" if place == before + 1 else "\n… "
        text = f"{text}{gap}{sentences[place].text}"
    place_in_body = sentences[chosen[0]].start, sentences[chosen[-1]].end
    return truncate(text, EXCERPT_TOKENS), place_in_body


def _window(sentences: Sequence[Sentence], *, limit: int) -> tuple[int, int]:
    """From the best sentence outwards, what follows before what precedes, within the limit."""
    costs = [count_tokens(sentence.text) for sentence in sentences]
    best = max(range(len(sentences)), key=lambda i: (max(sentences[i].shares, default=0), -i))
    first = last = best
    left = limit - costs[best]
    while True:
        if last + 1 < len(sentences) and costs[last + 1] <= left:
            last += 1
            left -= costs[last]
        elif first > 0 and costs[first - 1] <= left:
            first -= 1
            left -= costs[first]
        else:
            return first, last
