"""A known name, and no other word of the question in any one text: is one near in meaning?

The name alone makes a question and every text about its subject similar, so both are compared
again without it. On the sample's questions that told paraphrases from questions that memory
cannot answer (area under the curve 0.83 English, 0.96 Chinese) better than the cosine of the
whole (0.74 and 0.90) or that less the median of its neighbours (0.49 and 0.59).
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp

from holamem.errors import HolamemError
from holamem.providers.embed_local import MODEL_NAME
from holamem.providers.registry import embedder
from retrieval.stages import cues
from retrieval.stages.calibration import LOW_BELOW
from retrieval.stages.intent import names_in
from retrieval.stages.subjects import Subject, speaks_of, without_names
from retrieval.stages.yardstick import Yardstick
from retrieval.types import Hydrated

logger = logging.getLogger(__name__)

# Evidence that covers less than this of what is asked beside the name covers none of it: a
# lone weak word, or a Chinese pair that spans two words.
COVERED_FROM = 0.3
UNCOVERED_CAP = LOW_BELOW - 0.05
# Only where no text on the subject covers this much is meaning asked: beside shared words it
# let through more that is merely alike (LoCoMo, names exchanged: 27 % instead of 17 %).
UNCOVERED_BELOW = 0.2
# So many are compared again, the nearest by the whole question first: each costs an embedding, and
# somebody waits (six texts of 500 characters were a third of a second).
COMPARED = 3
COMPARED_CHARACTERS = 300
CACHED_VECTORS = 4096


@dataclass(frozen=True, slots=True)
class Nearness:
    """Of a logistic curve over the cosine without names; `ceiling` because no word agrees."""

    centre: float
    slope: float = 60.0
    ceiling: float = 0.77


_NEARNESS = {"en": Nearness(centre=0.8105), "zh": Nearness(centre=0.869)}


def settle_uncovered(
    evidence: Sequence[Hydrated], *, yardsticks: Sequence[Yardstick]
) -> tuple[Hydrated, ...]:
    """Evidence that covers nothing beside the name supports at most a low coverage.

    Where all of it does so, what is near in meaning without the name supports the question.
    Calls the embedding model, so no transaction may be open.
    """
    settled = tuple(evidence)
    for index, yardstick in enumerate(yardsticks):
        if yardstick.subject is None:
            continue
        settled = tuple(_capped(item, index=index) for item in settled)
        if _best_share(settled, index=index, subject=yardstick.subject) < UNCOVERED_BELOW:
            near = _supports_by_meaning(
                settled, index=index, yardstick=yardstick, subject=yardstick.subject
            )
            settled = tuple(_raised(item, index=index, near=near) for item in settled)
    return settled


def _best_share(evidence: Sequence[Hydrated], *, index: int, subject: Subject) -> float:
    on_subject = (i for i in evidence if speaks_of(i.row, _text(i), subject=subject))
    return max((item.shares[index] for item in on_subject), default=0.0)


def _capped(item: Hydrated, *, index: int) -> Hydrated:
    if item.shares[index] >= COVERED_FROM:
        return item
    return _supporting(item, index=index, support=min(item.supports[index], UNCOVERED_CAP))


def _raised(item: Hydrated, *, index: int, near: dict[str, float]) -> Hydrated:
    """Not lowered: an uncovered question shows what is loosely related as before."""
    support = max(item.supports[index], near.get(item.evidence_id, 0.0))
    return _supporting(item, index=index, support=support)


def _supporting(item: Hydrated, *, index: int, support: float) -> Hydrated:
    supports = (*item.supports[:index], support, *item.supports[index + 1 :])
    return replace(item, supports=supports)


def _supports_by_meaning(
    evidence: Sequence[Hydrated], *, index: int, yardstick: Yardstick, subject: Subject
) -> dict[str, float]:
    """By evidence id, of the nearest few leaves; empty where the model is out or another one."""
    if yardstick.traits.model_name != MODEL_NAME:
        return {}
    asked = yardstick.question.text
    fitting = [item for item in evidence if _may_answer(item, asked=asked, subject=subject)]
    fitting.sort(key=lambda item: -_known_cosine(item, index))
    curve = _NEARNESS[yardstick.traits.language]
    try:
        cosines = _cosines_without_names(fitting[:COMPARED], asked=asked, subject=subject)
    except HolamemError as error:
        logger.warning("retrieval.embedding_failed", extra={"code": error.code})
        return {}
    return {key: _support(cosine, curve) for key, cosine in cosines.items()}


def _cosines_without_names(
    items: Sequence[Hydrated], *, asked: str, subject: Subject
) -> dict[str, float]:
    if not items:
        return {}
    wanted = embedder().embed_query(without_names(asked, subject.spellings))
    names = tuple(dict.fromkeys((subject.name, *subject.spellings)))
    return {
        item.evidence_id: _cosine(wanted, _vector(without_names(_text(item), names)))
        for item in items
    }


def _known_cosine(item: Hydrated, index: int) -> float:
    cosines = item.ranked.cosines
    return (cosines[index] if index < len(cosines) else None) or 0.0


def _support(cosine: float, curve: Nearness) -> float:
    return min(curve.ceiling, 1 / (1 + exp(-curve.slope * (cosine - curve.centre))))


def _may_answer(item: Hydrated, *, asked: str, subject: Subject) -> bool:
    """A leaf on the subject; who did something is answered by one that names somebody else."""
    text = _text(item)
    if item.row.kind != "leaf" or not speaks_of(item.row, text, subject=subject):
        return False
    if not cues.WHO.search(asked):
        return True
    others = any(without_names(name, (subject.name,)) for _, name in item.row.entities)
    bare = without_names(text, (subject.name, *subject.spellings))
    return bool(others or names_in(bare) or cues.GROUP.search(bare))


def _text(item: Hydrated) -> str:
    return " ".join(sentence.text for sentence in item.sentences)[:COMPARED_CHARACTERS]


@lru_cache(maxsize=CACHED_VECTORS)
def _vector(text: str) -> tuple[float, ...]:
    """Bodies never change, and the same ones are near to many questions."""
    return tuple(embedder().embed_passages([text or " "])[0])


def _cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """Of unit vectors; 0 where a text could not be embedded."""
    return sum(a * b for a, b in zip(first, second, strict=False))
