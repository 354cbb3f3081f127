"""The one connection of a process on which PostgreSQL tells of committed events."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import psycopg
from django.db import connections

from agents.events.append import CHANNEL
from holamem.environment import get_environment

logger = logging.getLogger(__name__)

AGAIN_SECONDS = 1.0
_TOLD = re.compile(r"[0-9a-f-]{36}:([0-9a-f-]{36}):([0-9]{1,18})", re.ASCII)
# A peer that vanished without a word is noticed in about a minute; the poll bridges it.
KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}


async def listen(
    *, hear: Callable[[UUID, int], None], catch_up: Callable[[], Awaitable[None]]
) -> None:
    """Until it is cancelled. `catch_up` is called whenever listening has begun (again): what was
    committed before that moment was not heard.
    """
    while True:
        try:
            await _listen_once(hear, catch_up)
        except (psycopg.Error, OSError):
            logger.warning("events.listening_lost", exc_info=True)
        await asyncio.sleep(AGAIN_SECONDS)


async def _listen_once(
    hear: Callable[[UUID, int], None], catch_up: Callable[[], Awaitable[None]]
) -> None:
    connection = await _connect()
    try:
        await connection.execute(f"LISTEN {CHANNEL}")
        await catch_up()
        async for note in connection.notifies():
            told = _TOLD.fullmatch(note.payload)
            if told is not None:
                hear(UUID(told[1]), int(told[2]))
    finally:
        await connection.close()


async def _connect() -> psycopg.AsyncConnection:
    """Directly to the server: a transaction pooler would lose the LISTEN at once."""
    direct = get_environment().direct_database_url
    if direct:
        return await psycopg.AsyncConnection.connect(direct, autocommit=True, **KEEPALIVE)
    default = connections["default"]
    given = default.get_connection_params()
    plain = {name: value for name, value in given.items() if name not in NOT_OF_LIBPQ}
    return await psycopg.AsyncConnection.connect(**{**plain, **KEEPALIVE}, autocommit=True)


# Django's own wishes for its connections.
NOT_OF_LIBPQ = ("cursor_factory", "context", "prepare_threshold")
