"""Identifiers: UUIDv7, so that ids sort by the time of their making."""

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    return UUID(bytes=uuid7().bytes)
