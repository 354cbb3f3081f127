"""A planner that was told of many new rows knows them."""

from django.db import connection

from holamem.database.statistics import refresh_statistics
from workspaces.models.tenancy import Workspace


def test_the_planner_knows_the_rows_at_once(workspace: Workspace) -> None:
    refresh_statistics()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples FROM pg_class WHERE oid = 'workspaces_workspace'::regclass"
        )
        [rows] = cursor.fetchone()
        cursor.execute("SELECT current_user = session_user")
        [is_itself_again] = cursor.fetchone()
    assert rows >= 1
    assert is_itself_again
