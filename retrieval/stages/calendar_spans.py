"""Ranges on the asker's calendar. A day is a day of the anchor's zone, a week starts on Monday."""

from datetime import datetime, timedelta

from retrieval.types import Anchor, TimeRange

HALF_A_YEAR = timedelta(days=182)


def today(anchor: Anchor) -> datetime:
    """Midnight at the start of the anchor's day."""
    local = anchor.now.astimezone(anchor.zone)
    return local.replace(hour=0, minute=0, second=0, microsecond=0)


def day_of(anchor: Anchor, *, year: int, month: int, day: int) -> TimeRange:
    """Raises ValueError for a date that no calendar has."""
    start = datetime(year, month, day, tzinfo=anchor.zone)
    return TimeRange(start, start + timedelta(days=1))


def recent_date(anchor: Anchor, *, month: int, day: int, may_come: bool = False) -> TimeRange:
    """A date without a year: the latest one that is not in the future; with `may_come` the nearest."""
    latest = _latest(anchor, may_come=may_come)
    for year in range(latest.year, latest.year - 9, -1):
        try:
            found = day_of(anchor, year=year, month=month, day=day)
        except ValueError:
            continue  # 29 February, in other years
        if found.start is not None and found.start <= latest:
            return found
    raise ValueError("no such date")


def month(anchor: Anchor, *, year: int | None, month: int, may_come: bool = False) -> TimeRange:
    """Without a year: the latest such month that has begun; with `may_come` the nearest."""
    if year is None:
        latest = _latest(anchor, may_come=may_come)
        year = latest.year if month <= latest.month else latest.year - 1
    start = datetime(year, month, 1, tzinfo=anchor.zone)
    return TimeRange(start, _months_later(start, 1))


def _latest(anchor: Anchor, *, may_come: bool) -> datetime:
    """Up to which time a date without a year may lie: what is nearer than half a year may come."""
    local = anchor.now.astimezone(anchor.zone)
    return local + HALF_A_YEAR if may_come else local


def year(anchor: Anchor, number: int) -> TimeRange:
    return TimeRange(
        datetime(number, 1, 1, tzinfo=anchor.zone), datetime(number + 1, 1, 1, tzinfo=anchor.zone)
    )


def unit(anchor: Anchor, name: str, *, back: int) -> TimeRange:
    """The calendar day, week, month, quarter or year that lies `back` units before today's."""
    start = _unit_start(today(anchor), name)
    start = _shifted(start, name, -back)
    return TimeRange(start, _shifted(start, name, 1))


def ago(anchor: Anchor, count: int, name: str) -> TimeRange:
    """ "three days ago" is that day, "two weeks ago" that week, and so on."""
    return unit(anchor, name, back=count)


def trailing(anchor: Anchor, count: int, name: str) -> TimeRange:
    """The last `count` units up to the end of today."""
    end = today(anchor) + timedelta(days=1)
    return TimeRange(_shifted(today(anchor), name, -count), end)


def last_weekday(anchor: Anchor, weekday: int) -> TimeRange:
    """The latest such day before today; 0 is Monday."""
    now = today(anchor)
    back = (now.weekday() - weekday) % 7 or 7
    return unit(anchor, "day", back=back)


def weekday_of_week(anchor: Anchor, weekday: int, *, back: int) -> TimeRange:
    start = _unit_start(today(anchor), "week") + timedelta(days=weekday - 7 * back)
    return TimeRange(start, start + timedelta(days=1))


WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def beside(span: TimeRange, name: str, *, count: int, back: bool) -> TimeRange | None:
    """The `count` units, or the weekend or weekday, next to a span; None where that has no end.

    Raises OverflowError or ValueError beyond the calendar.
    """
    edge = span.start if back else span.end
    if edge is None:
        return None
    if name in WEEKDAY_NAMES or name == "weekend":
        return _named_day(edge, name, back=back)
    unit_name = "day" if name == "night" else name
    if back:
        return TimeRange(_shifted(edge, unit_name, -count), edge)
    return TimeRange(edge, _shifted(edge, unit_name, count))


def _named_day(edge: datetime, name: str, *, back: bool) -> TimeRange:
    """The latest before the edge, or the first from it on."""
    weekday = 5 if name == "weekend" else WEEKDAY_NAMES.index(name)
    days = 2 if name == "weekend" else 1
    if back:
        start = edge - timedelta(days=(edge.weekday() - weekday) % 7 or 7)
    else:
        start = edge + timedelta(days=(weekday - edge.weekday()) % 7)
    return TimeRange(start, start + timedelta(days=days))


def _unit_start(day: datetime, name: str) -> datetime:
    if name == "week":
        return day - timedelta(days=day.weekday())
    if name == "month":
        return day.replace(day=1)
    if name == "quarter":
        return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    if name == "year":
        return day.replace(month=1, day=1)
    return day


def _shifted(day: datetime, name: str, count: int) -> datetime:
    """Raises OverflowError or ValueError beyond the calendar."""
    if name in ("day", "week"):
        return day + timedelta(days=count * (7 if name == "week" else 1))
    return _months_later(day, count * {"month": 1, "quarter": 3, "year": 12}[name])


def _months_later(day: datetime, count: int) -> datetime:
    """The same day of the month, or the month's last where it is shorter."""
    index = day.year * 12 + day.month - 1 + count
    year_number, month_number = divmod(index, 12)
    first = day.replace(year=year_number, month=month_number + 1, day=1)
    following = first.replace(day=28) + timedelta(days=4)
    last = following - timedelta(days=following.day)
    return first.replace(day=min(day.day, last.day))
