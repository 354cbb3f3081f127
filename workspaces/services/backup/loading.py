"""Tables and rows of a restore: the schema that the backup was made in, its rows, then ours."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from psycopg import sql

from holamem.database.roles import OWNER_ROLE, as_owner
from holamem.database.schema import RESTORE_MARK, applied_migrations
from holamem.database.scope import system_scope
from holamem.errors import Conflict
from workspaces.bodies import (
    DIRECTORY_MODE,
    FILE_MODE,
    DurableFileStorage,
    body_storage,
)
from workspaces.services.backup.manifest import BackupDamaged, Manifest, Table, is_journal
from workspaces.services.backup.reading import PROGRESS_FILES, OnProgress, StoredBackup
from workspaces.services.backup.snapshot import raw_cursor, table_shapes

Key = tuple[str, str]


def migrate_to(keys: Sequence[Key]) -> None:
    """Make the tables of exactly these migrations, in a database that has none."""
    with as_owner(connection):
        executor = MigrationExecutor(connection)
        executor.migrate(_last_of_each_app(executor, keys=keys))
    made = set(applied_migrations(connection)) - {RESTORE_MARK}
    if made != set(keys):
        raise Conflict("This release cannot make the tables that the backup was made of.")


def _last_of_each_app(executor: MigrationExecutor, *, keys: Sequence[Key]) -> list[Key]:
    graph, wanted = executor.loader.graph, set(keys)

    def has_follower(key: Key) -> bool:
        followers = (node.key for node in graph.node_map[key].children)
        return any(follower in wanted and follower[0] == key[0] for follower in followers)

    return [key for key in keys if key in graph.nodes and not has_follower(key)]


def migrate_forward() -> None:
    """To this release; also gives the rights and makes what each start makes."""
    call_command("migrate", verbosity=0, interactive=False)


def write_files(backup: StoredBackup, *, on_progress: OnProgress) -> None:
    """Into the empty body store; an entry of the journal that is there already is newer.

    On a local disk synced once, at the end: until the mark is gone a restore starts over.
    """
    storage = body_storage()
    total = backup.manifest.files
    for number, (file, data) in enumerate(backup.files(), 1):
        if number % PROGRESS_FILES == 0 or number == total:
            on_progress("files", number, total)
        if is_journal(file.path) and storage.exists(file.path):
            continue
        if isinstance(storage, DurableFileStorage):
            _write_file(Path(storage.path(file.path)), data)
        else:
            storage.save(file.path, ContentFile(data))
    os.sync()


def _write_file(path: Path, data: bytes) -> None:
    if not path.parent.is_dir():
        _make_directories(path.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, FILE_MODE), "wb") as file:
        file.write(data)


def _make_directories(path: Path) -> None:
    """`mkdir` gives its mode to the last folder only."""
    for folder in reversed([path, *path.parents]):
        if not folder.is_dir():
            folder.mkdir(mode=DIRECTORY_MODE)


def load_rows(backup: StoredBackup, *, on_progress: OnProgress) -> None:
    """All tables in one transaction: they are all there or none is.

    Raises BackupDamaged for rows that the database refuses, or that contradict each other.
    """
    tables = backup.manifest.tables
    _require_same_shape(backup.manifest)
    try:
        with _open_tables([table.name for table in tables]):
            for number, table in enumerate(tables, 1):
                _copy_in(backup, table=table)
                on_progress("loaded tables", number, len(tables))
            _set_sequences()
    except (psycopg.DataError, psycopg.IntegrityError) as error:
        # The database's words may quote a row.
        raise BackupDamaged(
            f"The database refuses rows of the backup ({type(error).__name__})."
        ) from error


def _require_same_shape(manifest: Manifest) -> None:
    ours = {shape.name: shape.columns for shape in table_shapes()}
    theirs = {table.name: table.columns for table in manifest.tables}
    different = sorted(
        name
        for name in {*ours, *theirs}
        if sorted(ours.get(name, ())) != sorted(theirs.get(name, ()))
    )
    if different or len(theirs) != len(manifest.tables):
        raise BackupDamaged(
            "The tables of the backup are not those of its migrations: " + ", ".join(different)
        )


@contextmanager
def _open_tables(names: Sequence[str]) -> Iterator[None]:
    """As their owner, with keys checked at the end, since rows point at each other both ways.

    COPY into a table refuses row-level security, which is forced on the owner as well: it is
    lifted for this transaction, in which nobody else can read the tables.
    """
    quoted = [connection.ops.quote_name(name) for name in names]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {OWNER_ROLE}")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        forced = _forced_tables()
        for name in forced:
            cursor.execute(f"ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY")
        cursor.execute(f"TRUNCATE {', '.join(quoted)}")
        yield
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for name in forced:
            cursor.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")


def _forced_tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE relforcerowsecurity"
            " AND relnamespace = 'public'::regnamespace"
        )
        return [row[0] for row in cursor.fetchall()]


def _copy_in(backup: StoredBackup, *, table: Table) -> None:
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, table.columns))
    )
    with raw_cursor() as cursor:
        with cursor.copy(statement) as copy:
            for chunk in backup.table_rows(table.name):
                copy.write(chunk)
        if cursor.rowcount != table.rows:
            raise BackupDamaged(f"{table.name} took {cursor.rowcount} of {table.rows} rows.")


def _set_sequences() -> None:
    """Each goes on after the highest number that was given out."""
    with connection.cursor() as cursor:
        cursor.execute(_SEQUENCES, [OWNER_ROLE])
        for sequence, table, column in cursor.fetchall():
            statement = sql.SQL(
                "SELECT setval({}::regclass, coalesce(max({}), 1), max({}) IS NOT NULL) FROM {}"
            ).format(
                sql.Literal(sequence),
                sql.Identifier(column),
                sql.Identifier(column),
                sql.Identifier(table),
            )
            cursor.execute(statement)


_SEQUENCES = """
SELECT s.oid::regclass::text, t.relname, a.attname
  FROM pg_class AS s
  JOIN pg_depend AS d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass
   AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
  JOIN pg_class AS t ON t.oid = d.refobjid
  JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
  JOIN pg_roles AS r ON r.oid = t.relowner
 WHERE s.relkind = 'S' AND t.relnamespace = 'public'::regnamespace AND r.rolname = %s
"""


def release_jobs() -> int:
    """Jobs that a worker had at the time of the backup are ready again; returns their number.

    Their attempt does not count: it was cut off by no fault of theirs. Where the same work is
    ready a second time, that one does it. What was ready is due from now on: nobody kept it
    waiting.
    """
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(_RELEASE)
        released: int = cursor.rowcount
        cursor.execute(
            "UPDATE workspaces_job SET next_try_at = now()"
            " WHERE state = 'ready' AND next_try_at < now()"
        )
    return released


_RELEASE = """
UPDATE workspaces_job AS j
   SET state = CASE WHEN twin.id IS NULL THEN 'ready' ELSE 'done' END,
       done_at = CASE WHEN twin.id IS NULL THEN NULL ELSE now() END,
       attempts = greatest(j.attempts - 1, 0), next_try_at = now(),
       lease_token = NULL, lease_until = NULL
  FROM workspaces_job AS own LEFT JOIN workspaces_job AS twin
    ON twin.topic = own.topic AND twin.target_id = own.target_id AND twin.state = 'ready'
 WHERE own.id = j.id AND j.state = 'running'
"""
