"""From how well a text matches a question to the chance that it answers it."""

from dataclasses import dataclass
from math import exp, log

from holamem.providers.embed_local import MODEL_NAME
from retrieval.types import Level

# Below the first a question is uncovered, below the second its evidence is no fact.
NONE_BELOW = 0.25
LOW_BELOW = 0.5
MEDIUM_BELOW = 0.78

# A stretch of unseen Chinese characters up to this long is a way of asking, not a subject.
ORDINARY_STRETCH = 3


@dataclass(frozen=True, slots=True)
class Weights:
    """Of a logistic regression; `words` weighs the sum of two shares (0..2)."""

    bias: float
    words: float
    cosine: float
    stretch: float


# Fitted on questions of LoCoMo (English) and MemDaily (Chinese), each asked where its evidence
# is and, with the names exchanged, where it is not: area under the curve 0.92 and 0.90, without
# vectors 0.89 and 0.89. The cosines are those of the packaged model.
_WITH_VECTOR = {
    "en": Weights(bias=-40.5, words=3.1, cosine=44.9, stretch=0.0),
    "zh": Weights(bias=-34.0, words=1.0, cosine=38.0, stretch=-0.5),
}
_WORDS_ONLY = {
    "en": Weights(bias=-2.7, words=3.3, cosine=0.0, stretch=0.0),
    "zh": Weights(bias=-1.2, words=2.5, cosine=0.0, stretch=-0.55),
}


# How much the fused score of the best leaf adds to the logit, and where it adds nothing. High
# when one leaf is the best by words and by meaning: on LoCoMo it told questions with their
# evidence from the same without it (area 0.679 instead of 0.655); on MemDaily it told nothing.
_AGREEMENT = {"en": (1.5, 1.7), "zh": (0.0, 0.0)}
_CERTAIN = 1e-6
_BELOW = 1e-3  # scores are shown with four digits


@dataclass(frozen=True, slots=True)
class QuestionTraits:
    """What is the same for all evidence of a question.

    `unseen_stretch`: characters of its longest Chinese stretch that memory has no pair of.
    """

    language: str
    model_name: str
    unseen_stretch: int


def chance(
    traits: QuestionTraits, *, share: float, sentence_share: float, cosine: float | None
) -> float:
    """0..1. Shares are of the question's words in the text and in its best sentence.

    Cosines of another model than the packaged one lie elsewhere, so words alone decide there.
    """
    known = cosine is not None and traits.model_name == MODEL_NAME
    weights = (_WITH_VECTOR if known else _WORDS_ONLY)[traits.language]
    logit = (
        weights.bias
        + weights.words * (share + sentence_share)
        + weights.cosine * (cosine if known and cosine is not None else 0.0)
        + weights.stretch * max(0, traits.unseen_stretch - ORDINARY_STRETCH)
    )
    return 1 / (1 + exp(-logit))


def with_agreement(score: float, *, language: str, agreement: float) -> float:
    """The coverage with what the ranking adds to it; whether there are facts is not its to say."""
    slope, centre = _AGREEMENT[language]
    if slope == 0 or not _CERTAIN < score < 1 - _CERTAIN:
        return score
    moved = 1 / (1 + exp(-log(score / (1 - score)) - slope * (agreement - centre)))
    if score >= LOW_BELOW:
        return max(moved, LOW_BELOW)
    return min(moved, LOW_BELOW - _BELOW)


def level_of(score: float) -> Level:
    if score < NONE_BELOW:
        return "none"
    if score < LOW_BELOW:
        return "low"
    return "medium" if score < MEDIUM_BELOW else "high"
