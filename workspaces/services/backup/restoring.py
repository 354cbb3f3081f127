"""Restore a backup into an empty installation: all of it, or nothing that serves.

The database is marked from the first step to the last, and no process serves a marked one. A
restore that is cut off is simply run again: it removes what it left and starts over.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

from holamem import faults
from holamem.database.schema import unknown_migrations, unmark_restore
from holamem.database.statistics import refresh_statistics
from workspaces.services.backup.loading import (
    load_rows,
    migrate_forward,
    migrate_to,
    release_jobs,
    write_files,
)
from workspaces.services.backup.manifest import BackupTooNew, Manifest, Problem
from workspaces.services.backup.reading import (
    OnProgress,
    StoredBackup,
    check_backup,
    open_backup,
)
from workspaces.services.backup.replaying import (
    JournalEntry,
    Replayed,
    mirror_all,
    read_journal,
    replay,
)
from workspaces.services.backup.target import (
    require_empty_target,
    require_room,
    reset_database,
    restoring_alone,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Restored:
    """`jobs_released` were running at the time of the backup. The rest as `Replayed` has it.

    `problems`: bodies that were missing or damaged when the backup was made, the first 1,000.
    """

    taken_at: str
    product_version: str
    rows: int
    files: int
    jobs_released: int
    erasures_again: int
    erasures_unfinished: list[str]
    erasures_elsewhere: int
    problems: list[Problem]


def restore_backup(source: Path, *, journal: Path | None, on_progress: OnProgress) -> Restored:
    """Nothing is touched before the whole backup, the journal and the target were looked at.

    Raises BackupDamaged, BackupTooNew, Conflict, InvalidInput, OSError.
    """
    with open_backup(source) as backup:
        _require_known(backup.manifest)
        check_backup(backup, on_progress=on_progress)
        entries = read_journal(journal)
        with restoring_alone():
            require_room(backup.manifest.file_bytes)
            require_empty_target()
            released = _load(backup, on_progress=on_progress)
            replayed = _settle(entries, on_progress=on_progress)
        return _report(backup.manifest, released=released, replayed=replayed)


def _require_known(manifest: Manifest) -> None:
    unknown = unknown_migrations(manifest.migration_keys)
    if unknown:
        raise BackupTooNew(
            f"The backup was made by release {manifest.product_version} or a later one, which has"
            f" {'.'.join(unknown[-1])}. Restore it with that release."
        )


def _load(backup: StoredBackup, *, on_progress: OnProgress) -> int:
    """Files before the rows that name them. Returns the number of jobs that were under way."""
    reset_database()
    faults.point("restore.marked")
    migrate_to(backup.manifest.migration_keys)
    write_files(backup, on_progress=on_progress)
    faults.point("restore.files_written")
    load_rows(backup, on_progress=on_progress)
    faults.point("restore.rows_loaded")
    migrate_forward()
    refresh_statistics()
    return release_jobs()


def _settle(entries: list[JournalEntry], *, on_progress: OnProgress) -> Replayed:
    replayed = replay(entries, on_progress=on_progress)
    faults.point("restore.replayed")
    mirror_all(on_progress=on_progress)
    unmark_restore(connection)
    return replayed


def _report(manifest: Manifest, *, released: int, replayed: Replayed) -> Restored:
    logger.info("backup.restored", extra={"rows": manifest.rows, "files": manifest.files})
    return Restored(
        taken_at=manifest.taken_at,
        product_version=manifest.product_version,
        rows=manifest.rows,
        files=manifest.files,
        jobs_released=released,
        erasures_again=replayed.again,
        erasures_unfinished=replayed.unfinished,
        erasures_elsewhere=replayed.elsewhere,
        problems=list(manifest.problems),
    )
