"""Backup and restore between two databases of an operator's own server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holamem.environment import PROJECT_DIR
from tests.postgres_server import TcpServer, tcp_server
from tests.workspaces.installations import Installation

pytestmark = pytest.mark.slow

PASSWORD = "of-the-login-role"


@pytest.fixture(scope="module")
def server() -> Iterator[TcpServer]:
    with tcp_server() as server:
        yield server


def installation(server: TcpServer, name: str, *, folder: Path) -> Installation:
    """With the roles that an operator makes; the login role is no superuser."""
    administrator_url = server.create_database(name)
    roles = PROJECT_DIR / "docker" / "roles.sql"
    server.run_file(roles, url=administrator_url, LOGIN_PASSWORD=PASSWORD)
    (folder / name).mkdir()
    return Installation(server.url(name, user="holamem", password=PASSWORD), folder / name)


def answer(installation: Installation, *arguments: str) -> dict[str, Any]:
    result = installation.command(*arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def test_a_backup_moves_from_one_database_to_another(server: TcpServer, tmp_path: Path) -> None:
    old = installation(server, "old", folder=tmp_path)
    new = installation(server, "new", folder=tmp_path)
    assert old.command("migrate", "--noinput").returncode == 0
    answer(old, "create_tenant", "--slug", "acme", "--workspace", "main", "--json")
    made = answer(old, "backup", "--to", str(tmp_path), "--json")
    restored = answer(new, "restore", "--from", made["path"], "--json")
    assert (restored["rows"], restored["findings"]) == (made["rows"], [])
    assert keys_in(new) == keys_in(old) != []
    assert answer(new, "verify", "--json")["findings"] == []
    assert not (new.data_dir / "postgres").exists()


def keys_in(installation: Installation) -> list[tuple[Any, ...]]:
    with psycopg.connect(installation.url) as connection:
        connection.execute("SET ROLE holamem_system")
        query = "SELECT prefix, secret_sha256, permissions FROM workspaces_apikey ORDER BY prefix"
        return list(connection.execute(query))
