"""Which of the two languages a text is in, from its characters alone."""

import re
from typing import Literal

# Unified ideographs with extensions A to H, compatibility ideographs, 々 and 〇.
HAN_RANGES = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
# A Chinese word has about two characters, so two Han characters weigh as much as one word of
# letters; at three words in ten a text with English product names still reads as Chinese.
CHINESE_SHARE = 0.3
CHARACTERS_PER_CHINESE_WORD = 2

_HAN = re.compile(f"[{HAN_RANGES}]")
_WORD_OF_LETTERS = re.compile(rf"(?:(?![{HAN_RANGES}])[^\W\d_])+")


def has_han(text: str) -> bool:
    return _HAN.search(text) is not None


def language_of(text: str) -> Literal["zh", "en"]:
    """ "zh" when at least three words in ten are Chinese; anything else, empty text too, "en"."""
    chinese = len(_HAN.findall(text)) / CHARACTERS_PER_CHINESE_WORD
    others = len(_WORD_OF_LETTERS.findall(text))
    return "zh" if chinese and chinese / (chinese + others) >= CHINESE_SHARE else "en"
