"""Import an archive into an empty workspace: all of it in one step, or nothing.

Files come first and are named by no row until the step commits; whoever reads sees the workspace
empty before and whole after. The step runs as `holamem_app` within the workspace, so the
database itself refuses rows of another one.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import DataError, IntegrityError, InternalError, OperationalError, connection
from psycopg import sql

from holamem import faults
from holamem.database.scope import (
    ALL_SCOPES,
    joined_system_scope,
    system_scope,
    workspace_scope,
)
from holamem.database.statements import run_together
from holamem.errors import Conflict, HolamemError
from workspaces.bodies import delete_bodies
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.backup.reading import OnProgress, StoredBackup
from workspaces.services.erasure.entry import write_entry
from workspaces.services.job_rows import NewJob, new_jobs_statement
from workspaces.services.jobs import wake_for
from workspaces.services.quotas import require_room_for
from workspaces.services.rebuild.sidecar import mirror_workspace
from workspaces.services.tenants import validate_settings
from workspaces.services.transfer.bodies import Nodes, plan_nodes, write_bodies
from workspaces.services.transfer.changes import Changes
from workspaces.services.transfer.ids import CHANGED_BITS, IdMap
from workspaces.services.transfer.manifest import ArchiveRefused
from workspaces.services.transfer.reading import (
    look_through,
    manifest_of,
    mapped_rows,
    open_export,
    raw_rows,
)
from workspaces.services.transfer.tables import ExportTable, Row, export_tables

ROWS_AT_ONCE = 500
ASKED_IDS = 200  # of each table: an archive that was imported before is here as a whole
JOBS_AT_ONCE = 500
WAKE_UPS = 4

# Codes of invariants that the rows and files break; called within the step.
Verify = Callable[[Workspace], Sequence[str]]
InStep = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Imported:
    """`rows` by table. `kept_ids`: ids are those of the archive."""

    rows: dict[str, int]
    files: int
    kept_ids: bool


def import_archive(
    workspace: Workspace,
    *,
    path: Path,
    seed: UUID,
    verify: Verify,
    in_step: InStep,
    on_progress: OnProgress,
) -> Imported:
    """`seed` decides how ids change, if they must: the same import run again gives the same.

    `in_step` runs in the step that makes all of it visible. Raises ArchiveRefused,
    BackupDamaged, Conflict, QuotaReached.
    """
    with open_export(path) as archive:
        _require_empty(workspace)
        ids = IdMap(source=manifest_of(archive).workspace_id, target=str(workspace.pk))
        _refuse_erased_since(workspace, archive=archive)
        look_through(archive, ids=ids, on_progress=on_progress)
        if _is_here(archive):
            ids.change = (seed.int & ((1 << CHANGED_BITS) - 1)) or 1
        nodes = plan_nodes(archive, workspace=workspace, ids=ids)
        require_room_for(
            workspace,
            leaves=_rows_of(archive, "workspaces_sourceleaf"),
            size=archive.manifest.file_bytes,
        )
        with _files_of(archive, nodes=nodes, ids=ids, on_progress=on_progress):
            faults.point("import.files_written")
            changes = Changes(workspace, manifest=manifest_of(archive), ids=ids, nodes=nodes)
            rows = _load(archive, changes=changes, verify=verify, in_step=in_step)
    faults.point("import.loaded")
    _write_beside(workspace)
    return Imported(rows, archive.manifest.files, kept_ids=ids.change == 0)


def _rows_of(archive: StoredBackup, name: str) -> int:
    return next(table.rows for table in archive.manifest.tables if table.name == name)


def _require_empty(workspace: Workspace) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        there = [
            str(table.model._meta.verbose_name_plural)
            for table in export_tables()
            if table.rows_in_the_way(workspace).exists()
        ]
        if workspace.webhooks.filter(enabled=True).exists():
            there.append("webhooks that would be told of all that comes in")
    if there:
        raise Conflict(
            "An archive is imported into an empty workspace. Here are " + ", ".join(there) + "."
        )


def _refuse_erased_since(workspace: Workspace, *, archive: StoredBackup) -> None:
    """An older archive of a workspace of this tenant would bring back what was erased there."""
    manifest = manifest_of(archive)
    kept = {row["id"] for row in raw_rows(archive, table=_table("workspaces_erasure"))}
    with system_scope():
        origin = workspace.tenant.workspaces.filter(id=manifest.workspace_id).first()
        if origin is None:
            return
        erased = {str(row) for row in origin.erasures.values_list("id", flat=True)}
    if erased - kept:
        raise Conflict(
            "Memory of this workspace was erased since the archive was made. Export it again."
        )


def _table(name: str) -> ExportTable:
    return next(table for table in export_tables() if table.name == name)


def _is_here(archive: StoredBackup) -> bool:
    """Whether ids of the archive are ids of rows of this installation, whoever has them."""
    for table in export_tables():
        some = [row["id"] for row in islice(raw_rows(archive, table=table), ASKED_IDS)]
        with system_scope():
            if table.model._default_manager.filter(id__in=some).exists():
                return True
    return False


@contextmanager
def _files_of(
    archive: StoredBackup, *, nodes: Nodes, ids: IdMap, on_progress: OnProgress
) -> Iterator[None]:
    """The bodies are there inside; when it fails they are removed, as far as the disk lets us."""
    written: list[str] = []
    try:
        for paths in write_bodies(archive, nodes=nodes, ids=ids, on_progress=on_progress):
            written += paths
        yield
    except BaseException:
        with suppress(HolamemError):
            delete_bodies(written)
        raise


def _load(
    archive: StoredBackup, *, changes: Changes, verify: Verify, in_step: InStep
) -> dict[str, int]:
    workspace = changes.workspace
    try:
        with workspace_scope(workspace, ALL_SCOPES):
            _lock(workspace)
            _require_empty(workspace)
            _make_room(workspace)
            rows = {
                table.name: _insert(table, rows=_new_rows(archive, table=table, changes=changes))
                for table in export_tables()
            }
            _take_settings(workspace, archive=archive)
            _queue(workspace, changes=changes)
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            faults.point("import.in_step")
            with joined_system_scope():  # its checks take steps of their own
                broken = verify(workspace)
            if broken:
                raise ArchiveRefused(f"The archive contradicts itself: {', '.join(broken)}.")
            in_step()
    except (DataError, IntegrityError, InternalError) as error:
        raise _refusal(error) from error
    except OperationalError as error:
        if _state_of(error)[:2] != "54":  # a program limit: a document that is too deep, for one
            raise
        raise _refusal(error) from error
    return rows


def _state_of(error: Exception) -> str:
    return str(getattr(error.__cause__, "sqlstate", None) or "")


def _refusal(error: Exception) -> ArchiveRefused:
    """Without the database's words, which may quote a row."""
    return ArchiveRefused(f"The database refuses rows of the archive ({type(error).__name__}).")


def _lock(workspace: Workspace) -> None:
    """Two imports into one workspace come one after the other."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM workspaces_workspace WHERE id = %s FOR UPDATE", [workspace.pk]
        )


def _make_room(workspace: Workspace) -> None:
    """What every workspace comes to have by itself. As the system: nobody else removes rows."""
    with system_scope():
        for table in export_tables():
            if table.replaced is not None:
                table.model._default_manager.filter(table.replaced, workspace=workspace).delete()


def _new_rows(archive: StoredBackup, *, table: ExportTable, changes: Changes) -> Iterator[Row]:
    change = changes.of(table)
    for row in mapped_rows(archive, table=table, ids=changes.ids):
        changed = change(row)
        if changed is not None:
            yield changed


def _insert(table: ExportTable, *, rows: Iterator[Row]) -> int:
    """As JSON, which the database reads by the types of its columns."""
    columns = sql.SQL(", ").join(map(sql.Identifier, table.columns))
    name = sql.Identifier(table.name)
    statement = sql.SQL(
        "INSERT INTO {} ({}) SELECT {} FROM jsonb_populate_recordset(NULL::{}, %s::jsonb)"
    ).format(name, columns, columns, name)
    inserted = 0
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        with connection.cursor() as cursor:
            cursor.execute(statement.as_string(), [json.dumps(batch)])
        inserted += len(batch)
    return inserted


def _take_settings(workspace: Workspace, *, archive: StoredBackup) -> None:
    """Thresholds and languages decide what memory says. Raises InvalidInput."""
    settings = validate_settings(manifest_of(archive).settings)
    type(workspace).objects.filter(id=workspace.pk).update(settings=settings)
    workspace.settings = settings


def _queue(workspace: Workspace, *, changes: Changes) -> None:
    """A pass over each tree, which writes its sidecar; and vectors that have to be made anew."""
    jobs = [
        *(NewJob(Job.Topic.TREE_DIRTY, UUID(id_), UUID(scope)) for id_, scope in changes.trees),
        *(
            NewJob(Job.Topic.NODE_CREATED, UUID(id_), UUID(scope))
            for id_, scope in changes.unembedded
        ),
    ]
    for start in range(0, len(jobs), JOBS_AT_ONCE):
        run_together([new_jobs_statement(workspace, jobs=jobs[start : start + JOBS_AT_ONCE])])
    wake_for(jobs[:WAKE_UPS])


def _write_beside(workspace: Workspace) -> None:
    """The workspace's own file, and the journal of the erasures that came along."""
    mirror_workspace(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        erasures: list[Any] = list(workspace.erasures.all())
    for erasure in erasures:
        write_entry(workspace, erasure=erasure)
