"""Rows of any model by COPY: for memories that are too large to be written turn by turn."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.models import Model

from holamem.database.roles import OWNER_ROLE
from workspaces.services.backup.snapshot import raw_cursor


class Table:
    """One model with what its rows have in common; a row names only what is its own."""

    def __init__(self, model: type[Model], /, **common: object) -> None:
        fields = model._meta.concrete_fields
        blank = model(**common)
        self._common = {
            field.attname: field.get_db_prep_save(field.pre_save(blank, True), connection)
            for field in fields
        }
        columns = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
        self.name = connection.ops.quote_name(model._meta.db_table)
        self._statement = f"COPY {self.name} ({columns}) FROM STDIN"

    def write(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Inside `open_tables`. Values by attribute name, as the driver takes them, keys as ids."""
        with raw_cursor() as cursor, cursor.copy(self._statement) as copy:
            for row in rows:
                copy.write_row(list((self._common | dict(row)).values()))


@contextmanager
def open_tables(tables: Iterable[Table]) -> Iterator[None]:
    """One transaction as their owner. COPY refuses row-level security, which is lifted for it."""
    names = [table.name for table in tables]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {OWNER_ROLE}")
        for name in names:
            cursor.execute(f"ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY")
        yield
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # an altered table may have none waiting
        for name in names:
            cursor.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")
