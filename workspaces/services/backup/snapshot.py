"""The database of a backup: every table as it was at one moment, and the files that it names.

Plain SQL over the catalogue in place of models: a database that waits for its migrations can be
backed up too. And COPY in place of `pg_dump`, which has to be as new as the server, needs the
server's own TLS settings, and knows nothing of row-level security that is forced on the owner.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import psycopg
from django.db import connection, transaction
from psycopg import sql

from holamem.database.roles import OWNER_ROLE, SYSTEM_ROLE
from workspaces.services.backup.manifest import TABLE_FOLDER, Table
from workspaces.services.backup.writing import Archive

# Sessions and the broker's messages are signed with the key of this installation, and only carry
# what the ledger of jobs holds as well. Migrations stand in the manifest.
LEFT_OUT = frozenset(
    {
        "django_migrations",
        "django_session",
        "django_q_ormq",
        "django_q_schedule",
        "django_q_task",
    }
)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that a row names. `sha256` is empty for one that the row has no hash of.

    `required`: readers need it. The others may be gone by the time at which they are copied.
    """

    object: str
    path: str
    sha256: str
    required: bool


@dataclass(frozen=True, slots=True)
class TableShape:
    name: str
    columns: list[str]


@contextmanager
def database_snapshot() -> Iterator[list[TableShape]]:
    """One read-only transaction as the system role; all its reads see the same moment.

    The tables are locked against migrations before that moment is taken: a table that is being
    rewritten looks empty to a snapshot that is older.
    """
    names = [shape.name for shape in table_shapes()]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute(f"SET LOCAL ROLE {SYSTEM_ROLE}")
        quoted = ", ".join(map(connection.ops.quote_name, names))
        cursor.execute(f"LOCK TABLE {quoted} IN ACCESS SHARE MODE")
        yield table_shapes()


def table_shapes() -> list[TableShape]:
    """What is backed up, in order of name; computed columns are left to the database."""
    with connection.cursor() as cursor:
        cursor.execute(_TABLES, [OWNER_ROLE, sorted(LEFT_OUT)])
        return [TableShape(name, columns) for name, columns in cursor.fetchall()]


_TABLES = """
SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
  FROM pg_class AS c JOIN pg_roles AS r ON r.oid = c.relowner
  JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
   AND NOT a.attisdropped AND a.attgenerated = ''
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND r.rolname = %s
   AND NOT c.relname = ANY (%s)
 GROUP BY c.relname ORDER BY c.relname
"""


def dump_table(archive: Archive, *, shape: TableShape) -> Table:
    """Inside the snapshot."""
    counter = _Lines()
    archive.add(TABLE_FOLDER + shape.name, counter.through(_copied_out(shape)))
    return Table(name=shape.name, columns=shape.columns, rows=counter.count)


def _copied_out(shape: TableShape) -> Iterator[bytes]:
    # From a query, since COPY of a table passes over row-level security or refuses it.
    statement = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(
        sql.SQL(", ").join(map(sql.Identifier, shape.columns)), sql.Identifier(shape.name)
    )
    with raw_cursor() as cursor, cursor.copy(statement) as copy:
        for block in copy:
            yield bytes(block)


class _Lines:
    """Counts rows on their way: COPY writes each as one line, and a line break inside as `\\n`."""

    def __init__(self) -> None:
        self.count = 0

    def through(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        for block in blocks:
            self.count += block.count(b"\n")
            yield block


def write_named_files(spool: IO[bytes]) -> int:
    """Inside the snapshot: one line of JSON for each file; returns their number.

    On disk, since they are read again after the snapshot has ended.
    """
    written = 0
    with raw_cursor() as cursor, cursor.copy(_FILES) as copy:
        for row in copy.rows():
            spool.write(json.dumps(row).encode() + b"\n")
            written += 1
    return written


def read_named_files(spool: IO[bytes]) -> Iterator[NamedFile]:
    spool.seek(0)
    for line in spool:
        kind, path, sha256, required = json.loads(line)
        yield NamedFile(kind, path, sha256, required == "t")


# Of a quarantined summary the text may be gone, and a file that was given up may expire.
_FILES = """
COPY (
  SELECT 'leaf:' || id, body_path, body_sha256, true FROM workspaces_sourceleaf
   WHERE status NOT IN ('erasing', 'erased')
  UNION ALL
  SELECT 'summary:' || id, body_path, body_sha256, status IN ('sealed', 'stale')
    FROM workspaces_summarynode
  UNION ALL
  SELECT 'retired_body:' || r.id, r.path, '', false FROM workspaces_retiredbody AS r
   WHERE NOT EXISTS (SELECT 1 FROM workspaces_summarynode AS s WHERE s.body_path = r.path)
     AND NOT EXISTS (SELECT 1 FROM workspaces_sourceleaf AS l WHERE l.body_path = r.path)
) TO STDOUT
"""


def workspace_folders() -> list[str]:
    """Inside the snapshot: where each workspace keeps its files, `tenant/workspace`."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT t.slug || '/' || w.slug FROM workspaces_workspace AS w"
            " JOIN workspaces_tenant AS t ON t.id = w.tenant_id ORDER BY 1"
        )
        return [row[0] for row in cursor.fetchall()]


def recorded_migrations() -> list[tuple[str, str]]:
    """Inside the snapshot: app and name of every migration that made these tables."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT app, name FROM django_migrations ORDER BY app, name")
        return [(app, name) for app, name in cursor.fetchall()]


def raw_cursor() -> psycopg.Cursor[Any]:
    """The driver's own, which has COPY, on Django's connection and in its transaction."""
    connection.ensure_connection()
    raw: psycopg.Connection[Any] = connection.connection
    return psycopg.Cursor(raw)
