"""When a legacy note was written: its heading, its front matter, its name, else its file's time."""

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, tzinfo

# The later names say when it was last right, which is what a note states.
FRONT_MATTER_NAMES = ("updated", "updated_at", "modified", "date", "created", "created_at", "日期")
EARLIEST = date(1970, 1, 2)
_DAY = re.compile(
    r"(?<!\d)(?P<year>\d{4})(?:[-/._](?P<month>\d{1,2})[-/._](?P<day>\d{1,2})(?!\d)"
    r"|年\s*(?P<zh_month>\d{1,2})\s*月\s*(?P<zh_day>\d{1,2})\s*[日号]"
    r"|(?P<flat>\d{4})(?!\d))"
)
_SET_APART = re.compile(r"[(\[（【—–:：·|,，_-]\s*\Z")
_CLOCK = re.compile(r"\A[T\s,，]*(?P<hour>\d{1,2})[:：时点](?P<minute>\d{2})?")


def date_in(text: str, *, zone: tzinfo) -> datetime | None:
    """The first day that the text names, with the time that follows it; midnight without one."""
    for match in _DAY.finditer(text):
        day = _day(match)
        if day is not None:
            return datetime.combine(day, _clock(text[match.end() :]), tzinfo=zone)
    return None


def date_of_title(title: str, *, zone: tzinfo) -> datetime | None:
    """Of a heading or a file's name: one that begins with a day, or ends with it set apart.

    A day inside a sentence says what the note is about, not when it was written.
    """
    match = _DAY.search(title)
    if match is None:
        return None
    before, after = title[: match.start()], title[match.end() :]
    begins = not any(character.isalnum() for character in before)
    ends = _SET_APART.search(before) is not None and not any(map(str.isalnum, after))
    return date_in(title, zone=zone) if begins or ends else None


def _day(match: "re.Match[str]") -> date | None:
    flat = match["flat"] or ""
    month = match["month"] or match["zh_month"] or flat[:2]
    number = match["day"] or match["zh_day"] or flat[2:]
    try:
        day = date(int(match["year"]), int(month), int(number))
    except ValueError:
        return None
    return day if day >= EARLIEST else None


def _clock(rest: str) -> time:
    match = _CLOCK.match(rest)
    if match is None:
        return time()
    try:
        return time(int(match["hour"]), int(match["minute"] or 0))
    except ValueError:
        return time()


def date_of_front_matter(values: Mapping[str, object], *, zone: tzinfo) -> datetime | None:
    named = {name.casefold(): value for name, value in values.items()}
    for name in FRONT_MATTER_NAMES:
        found = _moment(named.get(name), zone=zone)
        if found is not None:
            return found
    return None


def _moment(value: object, *, zone: tzinfo) -> datetime | None:
    """YAML gives dates, moments or text."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=zone)
    if isinstance(value, date):
        return datetime.combine(value, time(), tzinfo=zone)
    if not isinstance(value, str):
        return None
    try:
        exact = datetime.fromisoformat(value.strip())
    except ValueError:
        return date_in(value, zone=zone)
    return exact if exact.tzinfo else exact.replace(tzinfo=zone)


def past(moment: datetime | None, *, now: datetime) -> datetime | None:
    """None for a day that has not come: a plan's date says nothing about when it was written."""
    if moment is None or moment > now + timedelta(days=1):
        return None
    return min(moment, now)
