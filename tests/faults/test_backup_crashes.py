"""Processes killed while they back up or restore: no half backup, and no half installation."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from holamem.database.schema import schema_fault
from tests.verification import assert_clean, assert_installation_clean
from tests.workspaces.erasing import english, erased, sealed_memory, workspace_of
from tests.workspaces.installations import Installation, new_installation
from tests.workspaces.traces import assert_no_trace, english_canary
from workspaces.services.backup.target import restoring_alone
from workspaces.services.operators import find_workspaces
from workspaces.services.tenants import create_tenant

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

BACKUP_POINTS = [("backup.before_rename", 1)]
RESTORE_POINTS = [
    ("restore.marked", 1),
    ("restore.files_written", 1),
    ("restore.rows_loaded", 1),
    ("restore.replayed", 1),
]
POINTS = [*BACKUP_POINTS, *RESTORE_POINTS]
KILLED = -signal.SIGKILL


class Old:
    """A memory in which `word` was erased after the backup was made."""

    def __init__(self, folder: Path) -> None:
        self.installation = new_installation(folder)
        self.word = english_canary()
        self.source = folder / "backup.zip"
        with self.installation.in_use():
            workspace = workspace_of(create_tenant(slug="acme", name="Acme"))
            leaf_id = sealed_memory(workspace, english(self.word))
            self._survive_a_killed_backup()
            assert done("backup", self.installation, "--to", str(self.source))["files"] > 0
            erased(workspace, leaf_id)

    def _survive_a_killed_backup(self) -> None:
        [(point, _)] = BACKUP_POINTS
        killed = self.installation.command(
            "backup", "--to", str(self.source), fault=f"{point}:kill"
        )
        assert killed.returncode == KILLED, killed.stderr
        assert not self.source.exists()


def done(name: str, installation: Installation, *arguments: str) -> dict[str, Any]:
    result = installation.command(name, *arguments, "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    answer: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return answer


@pytest.fixture(scope="module")
def old(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Old:
    return Old(tmp_path_factory.mktemp("old"))


@pytest.mark.parametrize(("point", "occurrence"), RESTORE_POINTS)
def test_a_killed_restore_serves_nothing_and_is_run_again(
    old: Old, tmp_path: Path, point: str, occurrence: int
) -> None:
    new = new_installation(tmp_path)
    arguments = ("--from", str(old.source), "--journal", str(old.installation.data_dir))
    killed = new.command("restore", *arguments, fault=f"{point}:kill@{occurrence}")
    assert killed.returncode == KILLED, killed.stderr
    with new.in_use():
        assert "was not finished" in schema_fault(connection)
    refused = new.command("qcluster")
    assert refused.returncode == 1
    assert "was not finished" in refused.stderr
    answer = done("restore", new, *arguments)
    assert (answer["erasures_again"], answer["findings"]) == (1, [])
    with new.in_use():
        assert schema_fault(connection) == ""
        [workspace] = find_workspaces()
        assert_no_trace(old.word)
        assert_clean(workspace)
        assert_installation_clean()


def test_a_killed_restore_may_go_on_with_another_backup(old: Old, tmp_path: Path) -> None:
    """What the first one left does not stay beside the files of the second."""
    empty, new = new_installation(tmp_path), new_installation(tmp_path)
    second = tmp_path / "second.zip"
    done("backup", empty, "--to", str(second))
    killed = new.command("restore", "--from", str(old.source), fault="restore.files_written:kill")
    assert killed.returncode == KILLED, killed.stderr
    assert list(new.bodies.rglob("*.md"))
    assert done("restore", new, "--from", str(second))["files"] == 0
    assert list(new.bodies.rglob("*.md")) == []


def test_a_journal_that_survived_beside_the_bodies_is_replayed(old: Old, tmp_path: Path) -> None:
    new = new_installation(tmp_path)
    journal = next(old.installation.bodies.glob("*/*/erasures"))
    shutil.copytree(journal, new.bodies / journal.relative_to(old.installation.bodies))
    assert done("restore", new, "--from", str(old.source))["erasures_again"] == 1
    with new.in_use():
        assert_no_trace(old.word)


def test_two_restores_into_one_database_do_not_run_at_once(old: Old, tmp_path: Path) -> None:
    new = new_installation(tmp_path)
    with new.in_use(), restoring_alone():
        second = new.command("restore", "--from", str(old.source), "--json")
    assert second.returncode == 3
    assert "Another restore" in json.loads(second.stdout.splitlines()[-1])["error"]
