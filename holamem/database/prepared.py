"""The product's own hot statements: planned once a connection, rows in the binary format.

On the sample, planning a question's statements took as long as running them, and reading
timestamps from text half of that again.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg.rows import dict_row, tuple_row

_PLACE = re.compile(r"%\((\w+)\)s|%%")
KNOWN_STATEMENTS = 256


@lru_cache(maxsize=KNOWN_STATEMENTS)
def numbered(statement: str) -> tuple[bytes, tuple[str, ...]]:
    """The statement with its places by number, as the server has them, and their names in order.

    The driver reads a statement of more than 4,096 characters anew each time (a millisecond).
    """
    numbers: dict[str, int] = {}

    def place(match: re.Match[str]) -> str:
        name = match[1]
        return "%" if name is None else f"${numbers.setdefault(name, len(numbers) + 1)}"

    text = _PLACE.sub(place, statement)
    return text.encode(), tuple(numbers)


class _PreparedCursor(psycopg.RawCursor[Any]):
    def execute(self, query: Any, params: Any = None, **_: Any) -> "_PreparedCursor":
        """`params` by the names of the places; names that have no place are left out."""
        text, names = numbered(query)
        values = [params[name] for name in names]
        return super().execute(
            text, values, prepare=settings.PREPARED_STATEMENTS or None, binary=True
        )


def fetch_rows(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """All rows, inside the caller's step.

    `statement` has named places, and only a few variants: the server keeps each.
    """
    return _fetch(statement, values, row_factory=tuple_row)


def fetch_dicts(statement: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """As `fetch_rows`, each row by its columns' names, which must be distinct."""
    return _fetch(statement, values, row_factory=dict_row)


def open_cursor(*, row_factory: Any) -> CursorWrapper:
    """Prepares what it executes."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    return CursorWrapper(
        _PreparedCursor(connection.connection, row_factory=row_factory), connection
    )


def _fetch(statement: str, values: Mapping[str, Any], *, row_factory: Any) -> list[Any]:
    with open_cursor(row_factory=row_factory) as cursor:
        cursor.execute(statement, dict(values))
        return list(cursor.fetchall())
