"""Whether a text speaks of what is over; Chinese says so with particles, or not at all."""

import re
from functools import lru_cache

# "Is reviewed" and "to be signed" are rules and plans.
_PAST = re.compile(
    r"\b(?:was|were|did|had|went|came|took|ran|made|got|saw|met|told|said|gave|became)\b"
    r"|(?<!\bbe )(?<!\bis )(?<!\bare )(?<!\bget )\b(?!planned\b)[a-z]{2,}ed\b"
    r"|[了过]|已经?|曾|刚刚?|发生|之前|以前",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def is_over(text: str) -> bool:
    """ "Who was on holiday in May?" asks of the last May, "who is" of the nearest one."""
    return _PAST.search(text) is not None
