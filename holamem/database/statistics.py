"""What the planner knows of the tables' contents."""

from django.db import connection

from holamem.database.roles import as_owner, can_migrate


def refresh_statistics() -> None:
    """After many rows came at once, outside any step. Nothing where the tables have another owner.

    Until autovacuum has looked, up to a minute later, tables are planned as if they were empty:
    a question took 800 ms in place of 60 on a freshly loaded memory of 240 leaves.
    """
    if not can_migrate(connection):
        return
    with as_owner(connection), connection.cursor() as cursor:
        cursor.execute("ANALYZE")
