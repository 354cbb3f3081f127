"""Whole steps in one way to the server and back: role and scope, the statements, the end.

A step of its own takes three ways for one statement. Each costs a busy machine a millisecond or
more, since both processes have to wait for a core.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.rows import dict_row, tuple_row

from holamem.database.prepared import fetch_dicts, fetch_rows, open_cursor
from holamem.database.scope import (
    SETTINGS,
    SYSTEM,
    HasId,
    Scope,
    may_end_early,
    scope_of,
    system_scope,
    workspace_scope,
)
from holamem.database.statements import Statement, run_together


def read_step(
    workspace: HasId,
    scopes: Sequence[UUID] | str | None,
    *,
    statement: str,
    values: Mapping[str, Any],
) -> list[tuple[Any, ...]]:
    """`fetch_rows` as a step of its own; inside another step, a part of that one."""
    if connection.in_atomic_block:
        with workspace_scope(workspace, scopes):
            return fetch_rows(statement, values)
    return _read(scope_of(workspace, scopes), statement, values, row_factory=tuple_row)


def read_system_step(*, statement: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`fetch_dicts` as a step of the system."""
    if connection.in_atomic_block:
        with system_scope():
            return fetch_dicts(statement, values)
    return _read(SYSTEM, statement, values, row_factory=dict_row)


def fetch_last_dicts(statement: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """As `fetch_dicts`, for the last statement of a `reading_scope`, which it ends as well.

    Whatever else is asked in that scope afterwards is refused by the database. In any other step
    it is `fetch_dicts`.
    """
    if not may_end_early():
        return fetch_dicts(statement, values)
    cursor = open_cursor(row_factory=dict_row)
    raw = connection.connection
    with connection.wrap_database_errors:
        with raw.pipeline():
            cursor.execute(statement, dict(values))
            psycopg.Cursor(raw).execute("COMMIT")
        return list(cursor.fetchall())


def write_step(
    workspace: HasId, scopes: Sequence[UUID] | str | None, *, statements: Sequence[Statement]
) -> None:
    """`run_together` as a step of its own; inside another step, a part of that one."""
    if connection.in_atomic_block:
        with workspace_scope(workspace, scopes):
            run_together(statements)
        return
    # One message is one transaction, as long as it holds no word of its own on that.
    run_together([Statement(SETTINGS, scope_of(workspace, scopes)), *statements])


def _read(
    scope: Scope, statement: str, values: Mapping[str, Any], *, row_factory: Any
) -> list[Any]:
    """What a pipeline sends before it waits is one transaction, to which the settings are local."""
    cursor = open_cursor(row_factory=row_factory)
    raw = connection.connection
    with connection.wrap_database_errors:
        with raw.pipeline():
            psycopg.Cursor(raw).execute(
                SETTINGS, scope, prepare=settings.PREPARED_STATEMENTS or None
            )
            cursor.execute(statement, dict(values))
        return list(cursor.fetchall())
