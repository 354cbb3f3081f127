"""What is restored into: empty, or left behind by a restore that was not finished."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.files.storage import FileSystemStorage
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from holamem.database.roles import OWNER_ROLE, ensure_roles
from holamem.database.schema import RESTORE_MARK, applied_migrations, mark_restore
from holamem.errors import Conflict
from workspaces.bodies import body_storage, delete_bodies
from workspaces.services.backup.manifest import is_journal
from workspaces.services.backup.snapshot import table_shapes
from workspaces.services.erasure.files import walk

RESTORE_LOCK = 7302118465  # of this database; the number means nothing
SEEDED = frozenset({"auth_permission", "django_content_type"})  # by every migration
SHOWN = 8


@contextmanager
def restoring_alone() -> Iterator[None]:
    """Held by an open transaction of a connection of its own, which a killed process loses."""
    connection.ensure_connection()
    with connection.get_new_connection(connection.get_connection_params()) as held:
        with held.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [RESTORE_LOCK])
            is_ours = cursor.fetchone()[0]
        if not is_ours:
            raise Conflict("Another restore into this database is running.")
        yield


def require_empty_target() -> None:
    """Raises Conflict, naming what is there. What an unfinished restore left is removed."""
    _require_nobody_else()
    if RESTORE_MARK in applied_migrations(connection):
        delete_bodies(list(stored_files()))
        return
    there = [*_filled_tables(), *_bodies_there()]
    if there:
        raise Conflict(
            "A backup is restored into an empty installation. Here are "
            + ", ".join(there)
            + ". Name an empty database and data directory; what is left of an old installation"
            " can be moved away and named with --journal."
        )


def _require_nobody_else() -> None:
    """A process that has started already does not look for the mark: it would serve the rows
    before what was erased since is erased again.
    """
    with connection.cursor() as cursor:
        cursor.execute(_OTHERS, [RESTORE_LOCK])
        others = cursor.fetchone()[0]
    if others:
        raise Conflict(
            f"{others} other connections to this database are open. Stop its web servers and"
            " workers first."
        )


# The connection that holds the lock is ours as well.
_OTHERS = """
SELECT count(*) FROM pg_stat_activity AS a
 WHERE a.datname = current_database() AND a.backend_type = 'client backend'
   AND a.pid <> pg_backend_pid() AND NOT EXISTS (SELECT 1 FROM pg_locks AS l
     WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.granted
       AND (l.classid::bigint << 32 | l.objid::bigint) = %s)
"""


def _filled_tables() -> list[str]:
    with _as_owner():
        names = [shape.name for shape in table_shapes() if shape.name not in SEEDED]
        counts = {name: _count(name) for name in sorted(names, key=_what_it_tells)}
    found = [f"rows in {name} ({rows})" for name, rows in counts.items() if rows]
    more = len(found) - SHOWN
    return found[:SHOWN] + ([f"rows in {more} other tables"] if more > 0 else [])


def _what_it_tells(table: str) -> tuple[bool, str]:
    return table not in ("workspaces_tenant", "workspaces_event", "auth_user"), table


def _count(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 - quoted, from the catalogue
        return int(cursor.fetchone()[0])


def _bodies_there() -> list[str]:
    files = list(stored_files())
    return [f"{len(files)} files of memory such as {files[0]}"] if files else []


def stored_files() -> Iterator[str]:
    """Every file in the body store but the journal of erasures, which outlives its database."""
    storage = body_storage()
    try:
        directories, names = storage.listdir("")
    except FileNotFoundError:
        return
    yield from names
    for directory in directories:
        yield from (path for path in walk(directory) if not is_journal(path))


def require_room(file_bytes: int) -> None:
    """Raises Conflict where the local disk cannot take the bodies."""
    storage = body_storage()
    if not isinstance(storage, FileSystemStorage):
        return
    folder = Path(storage.path(""))
    while not folder.exists():
        folder = folder.parent
    if shutil.disk_usage(folder).free < file_bytes:
        raise Conflict(f"{folder} has no room for {file_bytes} bytes of bodies.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Conflict(f"{folder} is not writable.")


def reset_database() -> None:
    """Empty, without tables, and marked: from here on nothing serves it until the mark is gone."""
    ensure_roles(connection)
    with _as_owner(), connection.cursor() as cursor:
        for kind, query in (("TABLE", _OWN_TABLES), ("FUNCTION", _OWN_FUNCTIONS)):
            cursor.execute(query, [OWNER_ROLE])
            for (name,) in cursor.fetchall():
                cursor.execute(f"DROP {kind} IF EXISTS {name} CASCADE")
        MigrationRecorder(connection).ensure_schema()
        mark_restore(connection)


@contextmanager
def _as_owner() -> Iterator[None]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {OWNER_ROLE}")
        yield


# Only what the owner's role made: an extension and whatever else the database holds stay. Names
# come quoted from the catalogue.
_OWN_TABLES = """
SELECT c.oid::regclass::text FROM pg_class AS c JOIN pg_roles AS r ON r.oid = c.relowner
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND r.rolname = %s
"""
_OWN_FUNCTIONS = """
SELECT p.oid::regprocedure::text FROM pg_proc AS p JOIN pg_roles AS r ON r.oid = p.proowner
 WHERE p.pronamespace = 'public'::regnamespace AND r.rolname = %s
"""
