"""Who may touch a tenant's table."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import ProgrammingError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from holamem.database.embedded import EmbeddedServer
from holamem.database.roles import (
    APP_ROLE,
    ERASER_ROLE,
    SYSTEM_ROLE,
    can_migrate,
    ensure_roles,
    lexical_match_is_leakproof,
    missing_statements,
)
from holamem.environment import get_environment


def _can(role: str, right: str, table: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_table_privilege(%s, %s, %s)", [role, table, right])
        return bool(cursor.fetchone()[0])


def test_the_login_role_cannot_read_a_tenant_table() -> None:
    with transaction.atomic(), connection.cursor() as cursor, pytest.raises(ProgrammingError):
        cursor.execute("SELECT 1 FROM workspaces_event")


def test_the_login_role_is_neither_superuser_nor_above_policies() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = session_user")
        assert cursor.fetchone() == (False, False)


@pytest.mark.parametrize("right", ["SELECT", "INSERT", "UPDATE", "DELETE"])
@pytest.mark.parametrize("table", ["django_q_ormq", "auth_user", "django_session"])
def test_the_login_role_works_with_tables_that_hold_no_memory(table: str, right: str) -> None:
    assert _can("holamem", right, table)


def test_the_app_role_deletes_search_rows_only() -> None:
    assert _can(APP_ROLE, "DELETE", "workspaces_vectorentry")
    assert _can(APP_ROLE, "DELETE", "workspaces_lexemeentry")
    assert not _can(APP_ROLE, "DELETE", "workspaces_event")
    assert not _can(APP_ROLE, "SELECT", "auth_user")


@pytest.mark.parametrize("role", [SYSTEM_ROLE, ERASER_ROLE])
def test_system_and_eraser_may_delete_from_tenant_tables(role: str) -> None:
    assert _can(role, "DELETE", "workspaces_event")


def test_nobody_but_the_owner_owns_a_table() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'")
        assert cursor.fetchall() == [("holamem_owner",)]


def test_a_prepared_database_lacks_nothing() -> None:
    assert missing_statements(connection) == []
    assert can_migrate(connection)
    assert lexical_match_is_leakproof(connection)


@pytest.mark.parametrize("options", [{"plan": True}, {"check_unapplied": True}, {}])
def test_migrate_runs_again_without_a_change(options: dict[str, bool]) -> None:
    call_command("migrate", verbosity=0, **options)

    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user = session_user")
        assert cursor.fetchone() == (True,)
    assert not _can("holamem", "SELECT", "workspaces_event")


@pytest.fixture
def superuser() -> Iterator[psycopg.Connection]:
    server = EmbeddedServer(get_environment().data_dir)
    url = server.superuser_url(connection.settings_dict["NAME"])
    with psycopg.connect(url, autocommit=True) as session:
        yield session


@pytest.fixture
def other_login(superuser: psycopg.Connection) -> Iterator[BaseDatabaseWrapper]:
    """What an external server gives: a login role that nobody has prepared."""
    name = f"login_{uuid4().hex}"
    superuser.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
    other = connection.copy("default")
    other.settings_dict |= {"USER": name, "PASSWORD": "secret"}
    yield other
    other.close()
    superuser.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_an_unprepared_login_is_told_the_sql_to_run(other_login: BaseDatabaseWrapper) -> None:
    assert not can_migrate(other_login)
    with pytest.raises(ImproperlyConfigured, match="GRANT holamem_owner TO"):
        ensure_roles(other_login)


def test_the_sql_that_was_shown_is_enough(
    other_login: BaseDatabaseWrapper, superuser: psycopg.Connection
) -> None:
    for statement in missing_statements(other_login):
        superuser.execute(statement)

    ensure_roles(other_login)

    assert can_migrate(other_login)
    assert missing_statements(other_login) == []
