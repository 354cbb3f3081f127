"""The one clock of the application, so that tests can move it. Leases use database time instead."""

from datetime import datetime
from functools import cache
from zoneinfo import available_timezones

from django.utils import timezone


def now() -> datetime:
    """Current time, aware, in UTC."""
    return timezone.now()


def offset_minutes(moment: datetime | None) -> int | None:
    """Minutes east of UTC of an aware time, as the caller wrote it."""
    offset = moment.utcoffset() if moment is not None else None
    return None if offset is None else int(offset.total_seconds() // 60)


def is_known_zone(name: str) -> bool:
    """Whether `name` is a time zone of the tz database, in its exact spelling."""
    return name in _zones()


@cache
def _zones() -> frozenset[str]:
    """Read once: every look walks the whole database on disk, which takes milliseconds."""
    return frozenset(available_timezones())
