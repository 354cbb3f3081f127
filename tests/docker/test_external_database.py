"""A server of the operator's own, over TCP with a password, in place of the embedded one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from holamem.database.roles import APP_ROLE, OWNER_ROLE, ROLES
from tests.postgres_server import TcpServer, tcp_server

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
ROLES_FILE = PROJECT / "docker" / "roles.sql"
PASSWORD = "of-the-login-role"
TENANT_TABLES = ("workspaces_event", "workspaces_sourceleaf", "retrieval_gap")


@pytest.fixture(scope="module")
def server() -> Iterator[TcpServer]:
    with tcp_server() as server:
        yield server


@pytest.fixture(scope="module")
def migrated(server: TcpServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """URL of the login role, which is no superuser, in a database that it has migrated."""
    administrator_url = server.create_database("memory")
    for _ in range(2):  # an operator may run it again
        server.run_file(ROLES_FILE, url=administrator_url, LOGIN_PASSWORD=PASSWORD)
    url = server.url("memory", user="holamem", password=PASSWORD)
    data_dir = tmp_path_factory.mktemp("data")
    for _ in range(2):
        result = run_migrate(url, data_dir=data_dir)
        assert result.returncode == 0, result.stderr
    assert not (data_dir / "postgres").exists()
    return url


def run_migrate(url: str, *, data_dir: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", "migrate", "--noinput"],
        cwd=PROJECT,
        env={**os.environ, "HOLAMEM_DATABASE_URL": url, "HOLAMEM_DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        check=False,
    )


def column(url: str, query: str) -> list[object]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute(query)]


def test_the_login_role_is_no_superuser_and_inherits_nothing(migrated: str) -> None:
    assert column(
        migrated,
        "SELECT rolname FROM pg_roles WHERE rolname = 'holamem'"
        " AND NOT (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb)",
    ) == ["holamem"]
    roles = column(
        migrated,
        "SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid"
        " WHERE m.member = 'holamem'::regrole AND m.set_option AND NOT m.inherit_option",
    )
    assert set(roles) == set(ROLES)


def test_tables_belong_to_the_owner_and_are_guarded(migrated: str) -> None:
    tables = column(
        migrated,
        "SELECT c.relname FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner"
        f" WHERE r.rolname = '{OWNER_ROLE}' AND c.relkind = 'r'"
        " AND c.relrowsecurity AND c.relforcerowsecurity",
    )
    assert set(TENANT_TABLES) <= set(tables)


def test_the_login_role_reads_memory_only_after_taking_a_role(migrated: str) -> None:
    with psycopg.connect(migrated) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute("SELECT count(*) FROM workspaces_sourceleaf")
        connection.execute(f"SET LOCAL ROLE {APP_ROLE}")
        rows = connection.execute("SELECT count(*) FROM workspaces_sourceleaf").fetchall()
    assert rows == [(0,)]


def test_the_extension_is_there_and_text_search_keeps_its_index(migrated: str) -> None:
    assert column(migrated, "SELECT extname FROM pg_extension WHERE extname = 'vector'")
    assert column(
        migrated,
        "SELECT proleakproof FROM pg_proc"
        " WHERE oid = 'ts_match_vq(tsvector, tsquery)'::regprocedure",
    ) == [True]


def test_without_the_roles_the_operator_is_told_what_to_run(
    server: TcpServer, migrated: str, tmp_path: Path
) -> None:
    server.create_database("bare")
    url = server.url("bare", user="holamem", password=PASSWORD)
    result = run_migrate(url, data_dir=tmp_path)
    assert result.returncode != 0
    assert "CREATE EXTENSION IF NOT EXISTS vector" in result.stderr


def test_a_wrong_password_is_refused(server: TcpServer, migrated: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(server.url("memory", user="holamem", password="guessed"))
