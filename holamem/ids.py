"""Identifiers: UUIDv7, so that ids sort by the time of their making."""

from datetime import datetime
from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    return UUID(bytes=uuid7().bytes)


def first_id_at(moment: datetime) -> UUID:
    """No id made at this moment or later is smaller: for a lower bound on rows by their id."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)
