"""The one clock of the application, so that tests can move it. Leases use database time instead."""

from datetime import datetime

from django.utils import timezone


def now() -> datetime:
    """Current time, aware, in UTC."""
    return timezone.now()
