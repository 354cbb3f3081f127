"""Make a backup of the whole installation, every tenant, while it runs."""

import logging
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.db import connection

from holamem.clock import now
from holamem.database.schema import applied_migrations, schema_fault
from holamem.errors import Conflict
from holamem.version import VERSION
from workspaces.services.backup.collecting import OnProgress, copy_bodies, copy_journals
from workspaces.services.backup.manifest import (
    PROBLEMS_KEPT,
    Manifest,
    Problem,
    Table,
)
from workspaces.services.backup.snapshot import (
    database_snapshot,
    dump_table,
    read_named_files,
    recorded_migrations,
    workspace_folders,
    write_named_files,
)
from workspaces.services.backup.writing import Archive, FileWriter, backup_path, new_archive

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BackupMade:
    """`bytes` of the archive; `erasures` are entries of their journal.

    `problems`: bodies that were missing or damaged already; the backup has everything else.
    """

    path: str
    bytes: int
    taken_at: str
    tables: dict[str, int]
    rows: int
    files: int
    erasures: int
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class _Dumped:
    """What the snapshot gave beside the rows themselves; `folders` as `workspace_folders` has."""

    migrations: list[tuple[str, str]]
    tables: list[Table]
    named_files: int
    folders: list[str]


@dataclass(frozen=True, slots=True)
class _Copied:
    problems: list[Problem]
    erasures: int


def make_backup(target: Path, *, on_progress: OnProgress) -> BackupMade:
    """Into a new file in the folder `target`, or into the file of that name.

    Everything is as it was at one moment. Raises Conflict, OSError; nothing is left then.
    """
    _require_schema()
    taken_at = now()
    path = backup_path(target.resolve(), taken_at=taken_at)
    with new_archive(path) as archive, tempfile.TemporaryFile() as spool:
        dumped = _dump_database(archive, spool=spool, on_progress=on_progress)
        writer = FileWriter(archive)
        copied = _copy_files(dumped, spool=spool, writer=writer, on_progress=on_progress)
        manifest = Manifest(
            product_version=VERSION,
            taken_at=taken_at.isoformat(),
            migrations=[list(key) for key in dumped.migrations],
            tables=dumped.tables,
            files=writer.files,
            file_bytes=writer.bytes,
            packs=writer.packs,
            members=archive.members,
            problems=copied.problems[:PROBLEMS_KEPT],
        )
        archive.close(manifest)
    return _report(path, manifest=manifest, copied=copied)


def _require_schema() -> None:
    fault = schema_fault(connection)
    if fault:
        raise Conflict(fault)
    if not applied_migrations(connection):
        raise Conflict("There is nothing to back up: the database holds no tables yet.")


def _dump_database(archive: Archive, *, spool: IO[bytes], on_progress: OnProgress) -> _Dumped:
    with database_snapshot() as shapes:
        tables = []
        for number, shape in enumerate(shapes, 1):
            tables.append(dump_table(archive, shape=shape))
            on_progress("tables", number, len(shapes))
        return _Dumped(
            migrations=recorded_migrations(),
            tables=tables,
            named_files=write_named_files(spool),
            folders=workspace_folders(),
        )


def _copy_files(
    dumped: _Dumped, *, spool: IO[bytes], writer: FileWriter, on_progress: OnProgress
) -> _Copied:
    problems = copy_bodies(
        read_named_files(spool), total=dumped.named_files, writer=writer, on_progress=on_progress
    )
    erasures = copy_journals(dumped.folders, writer=writer)
    writer.close()
    return _Copied(problems, erasures)


def _report(path: Path, *, manifest: Manifest, copied: _Copied) -> BackupMade:
    made = BackupMade(
        path=str(path),
        bytes=path.stat().st_size,
        taken_at=manifest.taken_at,
        tables={table.name: table.rows for table in manifest.tables},
        rows=manifest.rows,
        files=manifest.files,
        erasures=copied.erasures,
        problems=copied.problems,
    )
    logger.info(
        "backup.made",
        extra={"rows": made.rows, "files": made.files, "problems": len(made.problems)},
    )
    return made
