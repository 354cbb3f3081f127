"""How much a term says of what is meant, whatever its rarity in a memory."""

from functools import lru_cache

from holamem.text.languages import has_han
from holamem.text.stopwords import CHINESE_FUNCTION_CHARACTERS

# By the number of function characters in a pair of characters: 手机, 的手, 我的. Pairs that hold
# one mostly span two words, are rare by chance, and would weigh like a name. Measured on Chinese
# messages: recall at 10 is 86.6 instead of 85.6, and 89.2 instead of 86.5 on others.
_BY_FUNCTION_CHARACTERS = (1.0, 0.3, 0.1)


@lru_cache(maxsize=16_384)
def telling(term: str) -> float:
    """0.1..1: what a term's rarity is multiplied by. English stop words are no terms at all."""
    if len(term) != 2 or not all(map(has_han, term)):
        return 1.0
    return _BY_FUNCTION_CHARACTERS[sum(sign in CHINESE_FUNCTION_CHARACTERS for sign in term)]
