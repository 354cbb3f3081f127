"""The product's own hot statements: planned once a connection, rows in the binary format.

On the sample, planning a question's statements took as long as running them, and reading
timestamps from text half of that again.
"""

from collections.abc import Mapping
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg.rows import dict_row, tuple_row


class _PreparedCursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, params: Any = None, **_: Any) -> "_PreparedCursor":
        return super().execute(
            query, params, prepare=settings.PREPARED_STATEMENTS or None, binary=True
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
