"""Whether this release may serve a database: not one of a newer release, nor half a restore."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from holamem.database.roles import as_owner, can_migrate

# Stands among the migrations from the first step of a restore to the last, so that it is there
# before any other table and every process that looks at the schema finds it.
RESTORE_MARK = ("restore", "unfinished")
RESTORE_UNFINISHED = (
    "A restore into this database was not finished. Run the same `manage.py restore` again: it"
    " starts over by itself."
)

logger = logging.getLogger(__name__)

Migration = tuple[str, str]


class UnservableSchema(RuntimeError):
    """Nothing may serve this database; the message says what to do."""


def applied_migrations(connection: BaseDatabaseWrapper) -> list[Migration]:
    """App and name, in order; empty for a database that was never migrated."""
    with _reader(connection):
        return sorted(MigrationRecorder(connection).applied_migrations())


def unknown_migrations(applied: Sequence[Migration]) -> list[Migration]:
    """Those of an installed app that this release does not have: a newer one made them."""
    loader = MigrationLoader(None)
    known = set(loader.disk_migrations) | set(loader.replacements)
    return [row for row in applied if row[0] in loader.migrated_apps and row not in known]


def schema_fault(connection: BaseDatabaseWrapper) -> str:
    """Why this release must not serve the database; empty when it may."""
    applied = applied_migrations(connection)
    if RESTORE_MARK in applied:
        return RESTORE_UNFINISHED
    unknown = unknown_migrations(applied)
    if unknown:
        return (
            "The database belongs to a newer release, which has"
            f" {'.'.join(unknown[-1])}. Start that release, or restore a backup of this one."
        )
    return ""


def require_servable_schema() -> None:
    """Raises UnservableSchema, or DatabaseError where the database cannot be asked."""
    fault = schema_fault(connections["default"])
    if fault:
        raise UnservableSchema(fault)


def refuse_unservable_schema() -> None:
    """For the start of a process: it ends with the reason.

    A database that does not answer yet is another matter, which readiness reports.
    """
    try:
        require_servable_schema()
    except UnservableSchema as error:
        sys.exit(str(error))
    except DatabaseError:
        logger.warning("schema.not_checked")
    finally:
        connections.close_all()


def mark_restore(connection: BaseDatabaseWrapper) -> None:
    """Inside the caller's step, as the owner."""
    MigrationRecorder(connection).record_applied(*RESTORE_MARK)


def unmark_restore(connection: BaseDatabaseWrapper) -> None:
    with as_owner(connection):
        MigrationRecorder(connection).record_unapplied(*RESTORE_MARK)


@contextmanager
def _reader(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Rights on the table are given at the end of `migrate`, which may not have been reached."""
    with as_owner(connection) if can_migrate(connection) else nullcontext():
        yield
