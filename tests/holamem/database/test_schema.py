"""A release serves its own schema: not a newer one, and not one that is half made."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from holamem.database.schema import applied_migrations, schema_fault, unknown_migrations
from holamem.environment import PROJECT_DIR
from holamem.supervisor import doctor
from holamem.version import VERSION
from tests.verification import assert_installation_clean
from tests.workspaces.installations import Installation, new_installation
from workspaces.api import health

FUTURE = ("workspaces", "9999_of_a_newer_release")
SECONDS = 60


@pytest.fixture
def newer(tmp_path: Path) -> Installation:
    installation = new_installation(tmp_path)
    with installation.in_use(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, now())", FUTURE
        )
    return installation


def test_the_database_of_a_newer_release_is_not_ready(
    newer: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X65: old code on a new schema."""
    monkeypatch.setattr(health, "_migrated", False)
    probes = tuple(probe for probe in doctor.PROBES if probe[0] == "migrations")
    monkeypatch.setattr(doctor, "PROBES", probes)
    with newer.in_use():
        assert ".".join(FUTURE) in schema_fault(connection)
        assert health.CHECKS["migrations"]() is False
        [diagnosis] = doctor.diagnose()
    assert diagnosis.state is doctor.State.FAILED
    assert "newer release" in diagnosis.detail


def test_its_own_schema_is_served() -> None:
    assert schema_fault(connection) == ""
    assert unknown_migrations(applied_migrations(connection)) == []


def test_the_version_is_that_of_the_project() -> None:
    assert f'version = "{VERSION}"' in (PROJECT_DIR / "pyproject.toml").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("command", [["qcluster"], ["runner"], ["backup", "--to", "nowhere"]])
def test_nothing_works_on_the_database_of_a_newer_release(
    newer: Installation, command: list[str]
) -> None:
    refused = newer.command(*command)
    assert refused.returncode != 0
    assert "newer release" in refused.stderr


@pytest.mark.slow
def test_a_web_server_does_not_start_on_it(newer: Installation) -> None:
    environment = {
        **os.environ,
        "HOLAMEM_DATABASE_URL": newer.url,
        "HOLAMEM_DATA_DIR": str(newer.data_dir),
    }
    started = subprocess.run(
        [sys.executable, "-c", "import holamem.asgi"],
        cwd=PROJECT_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert started.returncode == 1
    assert "newer release" in started.stderr


@pytest.mark.slow
def test_a_migration_that_was_killed_is_ended_by_the_next(tmp_path: Path) -> None:
    """X65: interrupted anywhere; until then nothing is ready."""
    installation = new_installation(tmp_path, template="template1")
    process = subprocess.Popen(
        [sys.executable, "manage.py", "migrate", "--noinput"],
        cwd=PROJECT_DIR,
        env={**os.environ, "HOLAMEM_DATABASE_URL": installation.url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    wait_for_migrations(installation.url, number=12, process=process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with installation.in_use(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(health, "_migrated", False)
        assert not health.migrations_are_applied()
        call_command("migrate", verbosity=0)
        assert health.migrations_are_applied()
        assert_installation_clean()


def wait_for_migrations(url: str, *, number: int, process: "subprocess.Popen[bytes]") -> None:
    """As the owner of the tables, who gives the rights only at the end."""
    ends_at = time.monotonic() + SECONDS
    with psycopg.connect(url, autocommit=True) as watcher:
        watcher.execute("SET ROLE holamem_owner")
        while time.monotonic() < ends_at:
            assert process.poll() is None, "it came to its end first"
            try:
                row = watcher.execute("SELECT count(*) FROM django_migrations").fetchone()
            except psycopg.errors.UndefinedTable:
                continue
            if row is not None and row[0] >= number:
                return
    raise AssertionError("the migration did not get that far")
