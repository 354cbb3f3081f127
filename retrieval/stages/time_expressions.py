"""Times that a question names, in English and Chinese, as ranges on the asker's calendar.

Ranges are half open. Words that name the future are left alone: memory is asked about the past.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from retrieval.stages import calendar_spans as spans
from retrieval.stages.tense import is_over
from retrieval.types import Anchor, TimeRange

MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTH = "|".join(
    [*MONTHS, "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept?", "oct", "nov", "dec"]
)
_ORDINAL = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_NUMBER = (
    r"(?P<n>\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|couple of|few)"
)
_ZH_NUMBER = r"(?P<n>\d{1,4}|[一二两三四五六七八九十几半]{1,3})"
_WORD_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "couple of": 2, "few": 3,
}  # fmt: skip
_ZH_DIGITS = {
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_ZH_UNITS = {
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}
_ZH_WEEKDAYS = "一二三四五六日"


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """Where the words stand in the text, and what they name."""

    start: int
    end: int
    range: TimeRange


Builder = Callable[[re.Match[str], Anchor], TimeRange | None]


def find_times(text: str, anchor: Anchor) -> list[TimeExpression]:
    """All times in the text, in order, with "since", "before" and "between" applied."""
    plain = _told_on(text, _plain_expressions(text, anchor), anchor)
    return _paired(text, [_modified(text, expression, anchor) for expression in plain])


def named_times(text: str, anchor: Anchor) -> list[TimeExpression]:
    """What a statement speaks of: "after the outage on 3 May" tells of that day as well."""
    return _plain_expressions(text, anchor)


def time_range_of(text: str, anchor: Anchor) -> TimeRange | None:
    """The one range that covers every time in the text; None when it names none."""
    found = find_times(text, anchor)
    if not found:
        return None
    starts = [expression.range.start for expression in found]
    ends = [expression.range.end for expression in found]
    start = None if None in starts else min(value for value in starts if value is not None)
    end = None if None in ends else max(value for value in ends if value is not None)
    return TimeRange(start, end)


def without_times(text: str, anchor: Anchor) -> str:
    """The text with its time words blanked, so that its topic is left."""
    for expression in reversed(find_times(text, anchor)):
        text = f"{text[: expression.start]} {text[expression.end :]}"
    return text


def _plain_expressions(text: str, anchor: Anchor) -> list[TimeExpression]:
    """The longest reading wins where patterns overlap; patterns are ordered by precision."""
    taken: list[TimeExpression] = []
    for pattern, build in _PATTERNS:
        for match in pattern.finditer(text):
            if any(match.start() < other.end and other.start < match.end() for other in taken):
                continue
            span = _built(build, match, anchor)
            if span is not None:
                taken.append(TimeExpression(match.start(), match.end(), span))
    return sorted(taken, key=lambda expression: expression.start)


def _built(build: Builder, match: re.Match[str], anchor: Anchor) -> TimeRange | None:
    """None for what is no date after all (30 February), or lies outside the calendar."""
    try:
        return build(match, anchor)
    except (ValueError, OverflowError):
        return None


_TOLD_ON = re.compile(r"[\s,，]*(?:as\s+\w+\s+)?", re.IGNORECASE)


def _told_on(text: str, found: list[TimeExpression], anchor: Anchor) -> list[TimeExpression]:
    """ "Last Friday, as told on 23 January": the first counts from the second."""
    result: list[TimeExpression] = []
    for expression in found:
        previous = result[-1] if result else None
        day = expression.range.start
        if previous and day and _TOLD_ON.fullmatch(text, previous.end, expression.start):
            then = Anchor(day + timedelta(hours=12), anchor.zone)
            counted = _plain_expressions(text[previous.start : previous.end], then)
            if counted and counted[0].range.end != previous.range.end:
                told = TimeRange(counted[0].range.start, expression.range.end)
                result[-1] = TimeExpression(previous.start, expression.end, told)
                continue
        result.append(expression)
    return result


_OPEN_BEFORE = re.compile(
    r"(?P<word>since|after|before|until|till|by|as\s+of|自从|自|从|截至|截止到?)\s*"
    r"(?:(?:the|our|my|his|her|their|its)(?:\s+[\w-]+){1,4}\s+)?$",  # "before the outage on 3 May"
    re.IGNORECASE,
)
# "3月12日故障之前": a short name of what happened then may stand between.
_OPEN_AFTER = re.compile(
    r"\s*(?:[\u4e00-\u9fff]{2,4}(?=之[前后]|以[前后来]))?(?P<word>之前|以前|之后|以后|以来|起|后(?!天)|前(?!天))"
)


def _modified(text: str, found: TimeExpression, anchor: Anchor) -> TimeExpression:
    beside = _beside(text, found)
    if beside is not None:
        return beside
    before = _OPEN_BEFORE.search(text, 0, found.start)
    after = _OPEN_AFTER.match(text, found.end)
    if after is not None:
        opened = _opened(after["word"], found.range, anchor)
        start = before.start() if before and before["word"] in ("自", "自从", "从") else found.start
        return TimeExpression(start, after.end(), opened)
    if before is not None and before["word"] not in ("自", "从"):
        opened = _opened(before["word"].lower(), found.range, anchor)
        return TimeExpression(before.start(), found.end, opened)
    return found


# "The week before 3 August", "two days after", "8月3日前一周": a span that ends or begins there.
_SPAN_BEFORE = re.compile(
    rf"(?:(?:on|over|in|during)\s+)?(?:(?:the|last)\s+)?(?:{_NUMBER}\s+)?"
    rf"\b(?P<unit>day|night|week|weekend|month|year|{'|'.join(WEEKDAYS)})s?\s+"
    r"(?P<side>before|prior\s+to|preceding|after|following)\s*(?:on\s+)?$",
    re.IGNORECASE,
)
_SPAN_AFTER = re.compile(
    r"\s*的?(?:之|以)?(?P<side>前|后)(?:的|那)*"
    r"(?P<n>\d{1,3}|[一二两三四五六七八九十几]{1,3})?个?(?P<unit>周末|天|日|周|星期|礼拜|月|年)"
    r"(?P<weekday>[一二三四五六日天])?"
)


def _beside(text: str, found: TimeExpression) -> TimeExpression | None:
    english = _SPAN_BEFORE.search(text, 0, found.start)
    chinese = _SPAN_AFTER.match(text, found.end)
    if english is not None:
        back = not english["side"].lower().startswith(("after", "following"))
        count = _number(english["n"]) if english["n"] else 1
        span = spans.beside(found.range, english["unit"].lower(), count=count, back=back)
        return None if span is None else TimeExpression(english.start(), found.end, span)
    if chinese is not None:
        count = _zh_number(chinese["n"]) if chinese["n"] else 1
        span = spans.beside(
            found.range, _zh_unit(chinese), count=count, back=chinese["side"] == "前"
        )
        return None if span is None else TimeExpression(found.start, chinese.end(), span)
    return None


def _zh_unit(match: re.Match[str]) -> str:
    if match["unit"] == "周末":
        return "weekend"
    if match["weekday"]:
        return WEEKDAYS[_ZH_WEEKDAYS.index(match["weekday"].replace("天", "日"))]
    return _ZH_UNITS[match["unit"]]


def _opened(word: str, span: TimeRange, anchor: Anchor) -> TimeRange:
    if word in ("before", "之前", "以前", "前"):
        return TimeRange(None, span.start)
    if word in ("until", "till", "by", "截至", "截止", "截止到") or word.startswith("as"):
        return TimeRange(None, span.end)
    if word in ("after", "之后", "以后", "后"):
        return TimeRange(span.end, None)
    return TimeRange(span.start, None if span.start is None else max(anchor.now, span.start))


_BETWEEN = re.compile(r"(between|from|从|自)\s*$", re.IGNORECASE)
_JOIN = re.compile(r"\s*(and|to|until|till|through|-|–|—|~|到|至|和|与)\s*$", re.IGNORECASE)


def _paired(text: str, found: list[TimeExpression]) -> list[TimeExpression]:
    """ "between X and Y" is one range."""
    result: list[TimeExpression] = []
    for expression in found:
        previous = result[-1] if result else None
        if previous and _JOIN.fullmatch(text, previous.end, expression.start):
            lead = _BETWEEN.search(text, 0, previous.start)
            if lead is not None or "和" not in text[previous.end : expression.start]:
                start = lead.start() if lead else previous.start
                joined = TimeRange(previous.range.start, expression.range.end)
                if joined.start is None or joined.end is None or joined.start < joined.end:
                    result[-1] = TimeExpression(start, expression.end, joined)
                    continue
        result.append(expression)
    return result


def _number(word: str) -> int:
    lowered = word.lower()
    return int(lowered) if lowered.isdigit() else _WORD_NUMBERS[lowered]


def _zh_number(word: str) -> int:
    """ "十二" is 12, "二十" is 20; "几" reads as three, "半" as one."""
    if word.isdigit():
        return int(word)
    if word in ("几", "半"):
        return 3 if word == "几" else 1
    tens, ten, ones = word.partition("十")
    if not ten:
        return _ZH_DIGITS[word]
    return _ZH_DIGITS.get(tens, 1) * 10 + _ZH_DIGITS.get(ones, 0)


def _month_number(word: str) -> int:
    return next(i for i, month in enumerate(MONTHS, 1) if month.startswith(word.lower()[:3]))


def _full_date(match: re.Match[str], anchor: Anchor) -> TimeRange:
    month = match["month"]
    number = int(month) if month.isdigit() else _month_number(month)
    year = match["year"]
    if year is None:
        coming = not is_over(match.string)
        return spans.recent_date(anchor, month=number, day=int(match["day"]), may_come=coming)
    return spans.day_of(anchor, year=int(year), month=number, day=int(match["day"]))


def _month_of_year(match: re.Match[str], anchor: Anchor) -> TimeRange:
    month = match["month"]
    number = (
        int(month) if month.isdigit() else _zh_month(month) if month[0] in _ZH_MONTH_SIGNS
        else _month_number(month)
    )  # fmt: skip
    year = int(match["year"]) if match["year"] else None
    return spans.month(anchor, year=year, month=number, may_come=not is_over(match.string))


_ZH_MONTH_SIGNS = "一二三四五六七八九十"


def _zh_month(word: str) -> int:
    return _zh_number(word)


def _zh_date(match: re.Match[str], anchor: Anchor) -> TimeRange:
    month, day = _zh_number(match["month"]), _zh_number(match["day"])
    if match["year"] is None:
        coming = not is_over(match.string)
        return spans.recent_date(anchor, month=month, day=day, may_come=coming)
    return spans.day_of(anchor, year=int(match["year"]), month=month, day=day)


def _ago(match: re.Match[str], anchor: Anchor) -> TimeRange:
    return spans.ago(anchor, _number(match["n"]), match["unit"].lower())


def _zh_ago(match: re.Match[str], anchor: Anchor) -> TimeRange:
    return spans.ago(anchor, _zh_number(match["n"]), _ZH_UNITS[match["unit"]])


def _last_n(match: re.Match[str], anchor: Anchor) -> TimeRange:
    return spans.trailing(anchor, _number(match["n"]), match["unit"].lower())


def _zh_last_n(match: re.Match[str], anchor: Anchor) -> TimeRange:
    return spans.trailing(anchor, _zh_number(match["n"]), _ZH_UNITS[match["unit"]])


def _relative_unit(match: re.Match[str], anchor: Anchor) -> TimeRange:
    word, unit = match["which"].lower(), match["unit"].lower()
    if word == "past":
        return spans.trailing(anchor, 1, unit)
    return spans.unit(anchor, unit, back=0 if word in ("this", "current") else 1)


def _zh_relative_unit(match: re.Match[str], anchor: Anchor) -> TimeRange:
    back = {"这": 0, "本": 0, "今": 0, "上": 1, "上上": 2, "去": 1, "前": 2}[match["which"]]
    unit = "quarter" if match["unit"] == "季度" else _ZH_UNITS[match["unit"]]
    return spans.unit(anchor, unit, back=back)


def _weekday(match: re.Match[str], anchor: Anchor) -> TimeRange:
    return spans.last_weekday(anchor, WEEKDAYS.index(match["weekday"].lower()))


def _zh_weekday(match: re.Match[str], anchor: Anchor) -> TimeRange:
    index = _ZH_WEEKDAYS.index(match["weekday"].replace("天", "日"))
    which = match["which"]
    if which is None:
        return spans.last_weekday(anchor, index)
    return spans.weekday_of_week(anchor, index, back=0 if which in ("这", "本") else 1)


def _days_back(count: int) -> Builder:
    return lambda _match, anchor: spans.ago(anchor, count, "day")


def _year(match: re.Match[str], anchor: Anchor) -> TimeRange:
    return spans.year(anchor, int(match["year"]))


# "May" is a month and "2026" a year only after such a word. Words that open a range stay outside
# the match: `_modified` looks for them.
_LEAD_IN = (
    r"(?:\b(?:in|during|throughout|(?<!\bas\s)of|last|this|early|late|mid)\s+"
    r"|(?<=\bas\sof\s)|(?<=\bsince\s)|(?<=\bbefore\s)|(?<=\bafter\s)|(?<=\buntil\s)|(?<=\bby\s))"
)


def _compile(*patterns: tuple[str, Builder]) -> list[tuple[re.Pattern[str], Builder]]:
    return [(re.compile(pattern, re.IGNORECASE), build) for pattern, build in patterns]


_PATTERNS = _compile(
    (rf"(?<!\d){_YEAR}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})(?!\d)", _full_date),
    (rf"(?:{_YEAR}\s*年\s*)?(?P<month>\d{{1,2}}|[一二三四五六七八九十]{{1,2}})\s*月\s*(?P<day>\d{{1,2}}|[一二三四五六七八九十]{{1,3}})\s*[日号]", _zh_date),
    (rf"(?:on\s+)?(?:the\s+)?\b{_ORDINAL}\s+(?:of\s+)?(?P<month>{_MONTH})\b\.?(?:,?\s+{_YEAR})?", _full_date),
    (rf"(?:on\s+)?\b(?P<month>{_MONTH})\b\.?\s+{_ORDINAL}\b(?:,?\s+{_YEAR})?", _full_date),
    (rf"{_YEAR}\s*年\s*(?P<month>\d{{1,2}}|[一二三四五六七八九十]{{1,2}})\s*月份?", _month_of_year),
    (rf"(?:in\s+)?\b(?P<month>{_MONTH})\b\.?,?\s+(?:of\s+)?{_YEAR}\b", _month_of_year),
    (rf"(?<![\d.-]){_YEAR}-(?P<month>0[1-9]|1[0-2])(?![\d-])", _month_of_year),
    (rf"(?P<year>(?!))?{_LEAD_IN}(?P<month>{_MONTH})\b", _month_of_year),
    (r"(?P<year>(?!))?(?<!\d)(?P<month>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])\s*月份?(?![\d一二三四五六七八九十])", _month_of_year),
    (r"大前天", _days_back(3)),
    (r"\bthe day before yesterday\b|前天", _days_back(2)),
    (r"\byesterday\b|昨天|昨日|昨晚", _days_back(1)),
    (r"\btoday\b|\bthis (?:morning|afternoon|evening)\b|\btonight\b|今天|今日|今早|今晚", _days_back(0)),
    (rf"\b{_NUMBER}\s+(?P<unit>day|week|month|year)s?\s+ago\b", _ago),
    (rf"{_ZH_NUMBER}\s*个?(?P<unit>天|日|周|星期|礼拜|月|年)(?:之前|以前|前)", _zh_ago),
    (rf"\b(?:in\s+|over\s+|during\s+)?(?:the\s+)?(?:last|past|previous)\s+{_NUMBER}\s+(?P<unit>day|week|month|year)s?\b", _last_n),
    (rf"(?:最近|过去|近|这)\s*{_ZH_NUMBER}\s*个?(?P<unit>天|日|周|星期|礼拜|月|年)", _zh_last_n),
    (rf"\b(?:on|last|this)\s+(?P<weekday>{'|'.join(WEEKDAYS)})\b", _weekday),
    (r"(?P<which>上|这|本)?个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])", _zh_weekday),
    (r"\b(?P<which>this|current|last|past|previous)\s+(?P<unit>week|month|quarter|year)\b", _relative_unit),
    (r"(?P<which>上上|上|这|本)一?个?(?P<unit>周|星期|礼拜|月|季度)(?!末?[一二三四五六日])", _zh_relative_unit),
    (r"(?P<which>今|去|前)(?P<unit>年)", _zh_relative_unit),
    (rf"{_LEAD_IN}{_YEAR}\b", _year),
    (rf"(?<!\d){_YEAR}\s*年", _year),
)  # fmt: skip
