"""How a question names a time by an event: "before the migration", "搬家之后"."""

import re

_BACK = frozenset({"before", "prior to", "until", "之前", "以前", "前"})
# The event is told in a clause of its own, or has an article or an owner: "before tests" is none.
_ENGLISH = re.compile(
    r"\b(?P<side>before|prior\s+to|until|after|following|since)\s+"
    r"(?P<event>(?:(?:the|our|my|his|her|their|its|this|that|he|she|we|they|i|it)\b|\w+(?:'s|ing)\b"
    r"|\w+\s+\w+ed\b)[^,;.?!]*)",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?P<event>[^，。？！；,?!;\s在]{2,16}?)(?:的)?(?P<side>之前|以前|之后|以后|以来)"
)
# What is to be done before an event is a rule, not a time in the past.
_PAST = re.compile(
    r"\b(?:did|was|were|had|used|happened|changed|decided|learned|ran|owned|led|held|kept|lived"
    r"|worked|served|handled|stood|paid)\b",
    re.IGNORECASE,
)
_RULE = re.compile(r"必须|需要|应该|应当|得先|要先|要做|能不能|可以|怎么|如何")


def asks_of_the_past(text: str) -> bool:
    """Whether the question asks how it was before an event."""
    match = named_event(text)
    return match is not None and is_back(match)


def named_event(text: str) -> re.Match[str] | None:
    """Groups `event` and `side`; None where the question asks for a rule, or of the present."""
    english = _ENGLISH.search(text)
    if english is not None:
        return english if _PAST.search(text) else None
    chinese = _CHINESE.search(text)
    return chinese if chinese is not None and not _RULE.search(text) else None


def is_back(match: re.Match[str]) -> bool:
    return re.sub(r"\s+", " ", match["side"].lower()) in _BACK
