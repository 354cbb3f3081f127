"""Rows as statements that go to the server together with others, and as they come back.

`save` and `bulk_create` build their statement anew each time and send it alone; where a row is
written for every memory, that costs more than the row.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import Field, JSONField, Model

from holamem.database.statements import Statement

Row = TypeVar("Row", bound=Model)


def insert_statement(rows: Sequence[Model], *, unless_present: bool = False) -> Statement:
    """For unsaved rows of one model, with their primary keys. Raises ValueError without rows.

    `unless_present` leaves out a row that a unique constraint refuses.
    """
    if not rows:
        raise ValueError("There is no row to insert.")
    model = type(rows[0])
    into, row = _shape(model)
    values = [
        field.get_db_prep_save(field.pre_save(instance, True), connection)
        for instance in rows
        for field in model._meta.concrete_fields
    ]
    ending = "ON CONFLICT DO NOTHING" if unless_present else ""
    return Statement(" ".join([into, ", ".join([row] * len(rows)), ending]), values)


def read_rows(model: type[Row], cursor: Any) -> list[Row]:
    """The cursor's current result, which has all columns of the model. No JSON: it comes as text."""
    names, columns = _columns(model)
    places = {column.name: place for place, column in enumerate(cursor.description)}
    order = [places[column] for column in columns]
    return [
        model.from_db(connection.alias, names, [row[place] for place in order])
        for row in cursor.fetchall()
    ]


@cache
def _columns(model: type[Model]) -> tuple[list[str], list[str]]:
    """Attributes and columns in the model's order, in which it takes values."""
    fields = model._meta.concrete_fields
    if any(isinstance(field, JSONField) for field in fields):
        raise ValueError(f"{model.__name__} has JSON, which only a queryset reads.")
    return [field.attname for field in fields], [str(field.column) for field in fields]


@cache
def _shape(model: type[Model]) -> tuple[str, str]:
    """`INSERT INTO … VALUES`, and the placeholders of one row."""
    fields = model._meta.concrete_fields
    columns = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    table = connection.ops.quote_name(model._meta.db_table)
    return f"INSERT INTO {table} ({columns}) VALUES", f"({', '.join(map(_placeholder, fields))})"


def _placeholder(field: "Field[object, object]") -> str:
    """An empty list alone does not say of what it is a list."""
    return f"%s::{field.db_type(connection)}" if isinstance(field, ArrayField) else "%s"
