"""Token estimates for budgets. No tokenizer is available offline, so this errs high."""

import re

from holamem.text.graphemes import boundary_before
from holamem.text.sentences import split_sentences

# Ideographs, kana, Hangul and full-width forms cost about one token each, other characters a
# quarter of one, and a tenth is added for what the estimate misses. Counted in quarters of a
# token with whole numbers, so that the same text always gives the same count.
QUARTERS_PER_TOKEN = 4
MARGIN_NUMERATOR, MARGIN_DENOMINATOR = 11, 10
# A cut at a sentence or word may give up at most this share of the budget.
SMALLEST_SHARE_KEPT = 0.5

_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f"
    "\uff00-\uffef\U00020000-\U000323af]"
)


def _quarters(text: str) -> int:
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide * QUARTERS_PER_TOKEN + len(text) - wide


def count_tokens(text: str) -> int:
    """Estimated tokens, rounded up; 0 for empty text."""
    scale = QUARTERS_PER_TOKEN * MARGIN_DENOMINATOR
    return -(-_quarters(text) * MARGIN_NUMERATOR // scale)


def _longest_prefix(text: str, max_tokens: int) -> int:
    """Characters of the longest prefix whose estimate stays within the budget."""
    left = max_tokens * QUARTERS_PER_TOKEN * MARGIN_DENOMINATOR // MARGIN_NUMERATOR
    for index, character in enumerate(text):
        left -= QUARTERS_PER_TOKEN if _WIDE.match(character) else 1
        if left < 0:
            return index
    return len(text)


def _last_sentence_end(prefix: str) -> int:
    """End of the last sentence that is surely complete: the very last one may be cut."""
    sentences = split_sentences(prefix)
    return sentences[-2].end if len(sentences) > 1 else 0


def _last_space(prefix: str) -> int:
    return next((i for i in range(len(prefix) - 1, 0, -1) if prefix[i].isspace()), 0)


def truncate(text: str, max_tokens: int) -> str:
    """The start of the text within the budget, cut at a sentence, else a word, else a character.

    Returns the text itself when it fits, "" for a budget of zero or less. Never cuts inside a
    grapheme cluster and adds no ellipsis.
    """
    limit = _longest_prefix(text, max_tokens)
    if limit == len(text):
        return text
    prefix = text[: boundary_before(text, limit)]
    for cut in (_last_sentence_end(prefix), _last_space(prefix)):
        if cut >= len(prefix) * SMALLEST_SHARE_KEPT and cut > 0:
            return prefix[:cut].rstrip()
    return prefix.rstrip()
