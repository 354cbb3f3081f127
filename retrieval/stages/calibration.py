"""From how well a text matches a question to the chance that it answers it."""

from math import exp

from retrieval.types import Level

# Fitted by logistic regression on LoCoMo and MemDaily questions with their evidence present
# and removed.
BIAS = -5.0
SHARE_WEIGHT = 3.0
SENTENCE_WEIGHT = 3.0
COSINE_WEIGHT = 20.0
# Unrelated texts have a cosine about this high with the packaged model.
COSINE_ORIGIN = 0.80
# Without a vector words alone decide.
COSINE_UNKNOWN = 0.84

NONE_BELOW = 0.25
LOW_BELOW = 0.45
MEDIUM_BELOW = 0.75


def chance(*, share: float, sentence_share: float, cosine: float | None) -> float:
    """0..1. Shares are of the question's words in the text and in its best sentence."""
    near = COSINE_UNKNOWN if cosine is None else cosine
    logit = (
        BIAS
        + SHARE_WEIGHT * share
        + SENTENCE_WEIGHT * sentence_share
        + COSINE_WEIGHT * (near - COSINE_ORIGIN)
    )
    return 1 / (1 + exp(-logit))


def level_of(score: float) -> Level:
    if score < NONE_BELOW:
        return "none"
    if score < LOW_BELOW:
        return "low"
    return "medium" if score < MEDIUM_BELOW else "high"
