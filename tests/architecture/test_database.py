"""The second fence: policies, composite keys and rights, read from the database itself."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from holamem.database.roles import APP_ROLE, ERASER_ROLE, SEARCH_TABLES, SYSTEM_ROLE
from tests.verification import assert_installation_clean
from workspaces.verify.run import verify_installation
from workspaces.verify.tenancy import tenant_tables


@contextmanager
def weakened(statement: str) -> Iterator[None]:
    """The schema as its owner might change it, until the end of the block."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('role', 'holamem_owner', true)")
            cursor.execute(statement)
        yield
        transaction.set_rollback(True)


def test_every_rule_of_the_schema_holds() -> None:
    assert_installation_clean()


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("ALTER TABLE workspaces_event NO FORCE ROW LEVEL SECURITY", "S3"),
        ("ALTER TABLE workspaces_event DISABLE ROW LEVEL SECURITY", "S3"),
        ("ALTER TABLE workspaces_event ALTER COLUMN scope_id DROP NOT NULL", "S1"),
        ("ALTER TABLE workspaces_event ALTER COLUMN workspace_id DROP NOT NULL", "S1"),
        ("ALTER TABLE workspaces_chunk DROP CONSTRAINT chunk_event_id_in_workspace", "S2"),
        (
            "ALTER TABLE workspaces_chunk ADD CONSTRAINT loose FOREIGN KEY (leaf_id)"
            " REFERENCES workspaces_sourceleaf (id)",
            "S2",
        ),
        ("ALTER TABLE workspaces_sourceleaf DISABLE TRIGGER protect_leaf", "B8"),
        ("DROP TRIGGER append_only ON workspaces_audit", "B8"),
    ],
)
def test_a_weaker_schema_is_noticed(statement: str, code: str) -> None:
    with weakened(statement):
        assert code in {finding.code for finding in verify_installation()}


def rights(role: str, table: str) -> set[str]:
    wanted = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT right_ FROM unnest(%s::text[]) AS right_ WHERE has_table_privilege(%s, %s, right_)",
            [list(wanted), role, table],
        )
        return {row[0] for row in cursor.fetchall()}


def test_the_application_deletes_nothing_but_search_entries() -> None:
    may_delete = {table for table in tenant_tables() if "DELETE" in rights(APP_ROLE, table)}
    assert may_delete == set(SEARCH_TABLES)
    for table in tenant_tables():
        assert rights(APP_ROLE, table) <= {"SELECT", "INSERT", "UPDATE", "DELETE"}


def test_the_login_role_touches_no_table_with_tenants_data() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_user")
        login = cursor.fetchone()[0]
    assert [table for table in tenant_tables() if rights(login, table)] == []


def test_no_role_of_the_application_changes_the_schema() -> None:
    for role in (APP_ROLE, SYSTEM_ROLE, ERASER_ROLE):
        for table in tenant_tables():
            assert not rights(role, table) & {"TRUNCATE", "REFERENCES", "TRIGGER"}
