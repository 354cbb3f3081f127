"""A worker that is killed while it moves a workspace: all of it is there afterwards, once."""

from pathlib import Path

import pytest
from django.db import connection

from holamem.database.scope import eraser_scope, system_scope
from tests.faults.crash import is_killed_at, picture, recover
from tests.workspaces.memory import draft, drain, principal_of, remember
from tests.workspaces.transfer.world import empty_workspace, exported, imported
from workspaces.models.tenancy import Workspace
from workspaces.services.transfer.tables import export_tables
from workspaces.services.transfer.transfers import request_export, request_import

AT_IMPORT = ["body.before_rename", "import.files_written", "import.in_step", "import.loaded"]


@pytest.fixture
def source() -> Workspace:
    workspace = empty_workspace("source")
    remember(
        workspace,
        draft("The Atlas gateway listens on port 8443."),
        draft("Pavel Orlov prefers tea.", minutes=1, user_id="u-1"),
    )
    drain(workspace)
    return workspace


def state_of(workspace: Workspace) -> str:
    with system_scope():
        return str(workspace.transfers.get().state)


def assert_survives(source: Workspace, folder: Path, *, at: str) -> None:
    target = empty_workspace()
    archive = exported(source, folder).read_bytes()
    request_import(target, principal=principal_of(target), content=[archive])
    assert is_killed_at(target, at)
    recover(target)
    assert state_of(target) == "done"
    assert picture(target) == picture(source)


@pytest.mark.slow
@pytest.mark.parametrize("at", AT_IMPORT)
def test_an_import_that_was_killed_is_whole_afterwards(
    source: Workspace, tmp_path: Path, at: str
) -> None:
    assert_survives(source, tmp_path, at=at)


@pytest.mark.slow
def test_an_export_that_was_killed_is_made_again(source: Workspace) -> None:
    request_export(source, principal=principal_of(source))
    assert is_killed_at(source, "export.before_done")
    recover(source)
    assert state_of(source) == "done"


def test_on_a_server_that_does_not_know_them_ids_stay(source: Workspace, tmp_path: Path) -> None:
    """As if another server: nothing of the source is here any more."""
    archive = exported(source, tmp_path)
    before = picture(source)
    with system_scope():
        ids = set(source.leaves.values_list("id", flat=True))
    with eraser_scope(), connection.cursor() as cursor:
        for table in export_tables():
            cursor.execute(f"DELETE FROM {table.name} WHERE workspace_id = %s", [source.pk])
    target = empty_workspace()
    done = imported(target, archive)
    recover(target)
    assert done.kept_ids
    with system_scope():
        assert set(target.leaves.values_list("id", flat=True)) == ids
    assert picture(target) == before
