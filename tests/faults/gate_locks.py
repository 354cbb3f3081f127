"""Gates between processes: one waits at a named point for an advisory lock that the test holds."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection

SPACE = 4711  # of advisory locks; the product's own take one number, these take two
START = "start"  # before anything was done
WAIT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Gate:
    """`key` is what a process is started with; `open` may be called once."""

    point: str
    number: int

    @property
    def key(self) -> tuple[str, int]:
        return self.point, self.number

    def wait_until_reached(self, processes: int = 1) -> None:
        _wait_for(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            " AND classid = %s AND objid = %s",
            [SPACE, self.number],
            count=processes,
        )

    def open(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [SPACE, self.number])


@contextmanager
def gate(point: str) -> Iterator[Gate]:
    """Closed until it is opened, or until the test ends in whatever way."""
    made = Gate(point, random.randrange(2**31))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", [SPACE, made.number])
    try:
        yield made
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock_all()")


def wait_until_somebody_waits_for_a_row() -> None:
    _wait_for(
        "SELECT count(*) FROM pg_locks AS held JOIN pg_database AS own ON own.datname ="
        " current_database() WHERE NOT held.granted AND held.locktype IN ('transactionid', 'tuple')"
        " AND held.pid IN (SELECT pid FROM pg_stat_activity WHERE datid = own.oid)",
        [],
        count=1,
    )


def _wait_for(sql: str, values: list[object], *, count: int) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    found = 0
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            found = cursor.fetchone()[0]
        if found >= count:
            return
        time.sleep(0.01)  # between two looks; what is waited for is the state, not the time
    raise AssertionError(f"{found} of {count} wait")


def wait_at(point: str, number: int) -> None:
    """In the other process: from now on it waits at the first time that it reaches the point."""
    from holamem import faults

    if point == START:
        _pass(number)
        return
    pending = [number]
    real = faults.point

    def gated(reached: str) -> None:
        if reached == point and pending:
            _pass(pending.pop())
        real(reached)

    faults.point = gated


def _pass(number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", [SPACE, number])
        cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [SPACE, number])
