"""Signs that a leaf's index entry carries beside its terms: what kind of statement it is.

They cost no column and no table, and leave the index together with the entry.
"""

import re

# "§" begins no term of a text (see `scope_lexeme`).
ASKS = "§asks"
NAMES_TIME = "§time"

_ASKS = re.compile(r"[?？][\W_]*$")
_MONTHS = (
    "january|february|april|june|july|august|september|october|november|december"
    "|jan|feb|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_WEEKDAYS = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_NAMES_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|weekends?|(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th))\b"
    r"|\b(?:last|next|this|past|previous|coming)\s+(?:few\s+|\w+\s+)?"
    r"(?:night|days?|weeks?|months?|quarter|years?|spring|summer|autumn|fall|winter)\b"
    r"|\b(?:days?|weeks?|months?|years?)\s+(?:ago|before|later)\b"
    rf"|\b(?:{_WEEKDAYS}s?|{_MONTHS})\b|\b(?:in|on|of|since|until|by|last|next|this)\s+(?:may|march)\b"
    r"|\b(?:may|march)\s+\d|\d\s+(?:may|march)\b"
    r"|昨[天日晚]|今[天日早晚年]|明[天日早晚年]|[前后去]年|前天|后天|周末|[上下这本]个?(?:周|星期|礼拜|月|季度)"
    r"|(?:周|星期|礼拜)[一二三四五六日天]|[\d一二三四五六七八九十]{1,4}\s*[年月日号]"
    r"|[\d一二两三四五六七八九十几]+\s*(?:天|个?星期|个?礼拜|周|个月|年)[前后]",
    re.IGNORECASE,
)


def markers_of(text: str) -> list[str]:
    """A question put to somebody, whose answer comes next; a statement that says when."""
    found = []
    if _ASKS.search(text):
        found.append(ASKS)
    if _NAMES_TIME.search(text):
        found.append(NAMES_TIME)
    return found
