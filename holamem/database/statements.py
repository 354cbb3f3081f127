"""Several statements in one round trip, for steps where the way to the server costs most."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with `%s` for each of `values`; a literal per cent sign is written twice."""

    sql: str
    values: Sequence[Any]


def run_together(statements: Sequence[Statement]) -> None:
    """In order, inside the caller's step; what they return is dropped. None is no statement.

    Values are bound by the client, which is what lets one message hold several statements.
    Each still sees what was committed before it began.
    """
    if not statements:
        return
    sql = ";\n".join(statement.sql for statement in statements)
    values = [value for statement in statements for value in statement.values]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
