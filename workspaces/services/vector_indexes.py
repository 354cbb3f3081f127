"""A vector index for each large scope: built and dropped as scopes grow and shrink.

A sweep does it, in one worker at a time. Search is exact until an index is ready, and whatever is
left of a build that was killed is dropped first, so that every run may be the first.
"""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from holamem.database.roles import as_owner, can_migrate
from holamem.database.scope import system_scope
from workspaces.index.near import (
    COUNTS_AS,
    INDEXED_FROM,
    KEPT_FROM,
    MOST_INDEXES,
    PREFIX,
    NearIndex,
    forget_known,
)

logger = logging.getLogger(__name__)

TABLE = "workspaces_vectorentry"
LOCK = 4_711_020  # of this installation's database: one build at a time
# The graph has to fit, or the build takes several times as long.
BYTES_PER_VECTOR = 2_600
MOST_MEMORY_MB = 1_024
LEAST_MEMORY_MB = 64
# About 2.2 ms a vector on one core: a sweep has ten minutes, and what it cannot finish it would
# begin again for ever. Larger scopes are built by `manage.py vector_indexes`.
MOST_IN_A_SWEEP = 200_000

# Raw SQL: catalogue tables, and a count over all tenants from an index alone.
_NAMES = """
SELECT c.relname::text, i.indisvalid AND i.indisready
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
 WHERE i.indrelid = %s::regclass AND c.relname LIKE %s
"""
# Vectors of another model than the current one are few, or on their way out.
_LARGE = """
SELECT v.workspace_id, v.scope_id, v.kind, m.id, m.dimension, v.vectors
  FROM (SELECT workspace_id, scope_id, kind, count(*) AS vectors
          FROM workspaces_vectorentry GROUP BY workspace_id, scope_id, kind
        HAVING count(*) * (%s::jsonb ->> kind)::int >= %s) v, workspaces_embeddingmodel m
 WHERE m.is_current
 ORDER BY v.vectors DESC, v.scope_id, v.kind
 LIMIT %s
"""


def maintain_vector_indexes(*, most: int | None = MOST_IN_A_SWEEP) -> list[str]:
    """Names of the indexes that were built or dropped. Nothing where somebody else is at it.

    No index is built of more than `most` vectors; one that is there stays.

    Outside any transaction: these statements refuse to run in one. Nothing either where the
    tables have an owner that this login may not become.
    """
    with _turn() as mine:
        if not mine:
            return []
        existing = _existing()
        if not existing and _rows_about() < INDEXED_FROM:
            return []
        large = _large()
        changed = _drop(existing, keep={index.name for index, _ in large})
        buildable = [(index, n) for index, n in large if most is None or n <= most]
        changed += _build(existing, large=buildable)
    forget_known()
    return changed


@contextmanager
def _turn() -> Iterator[bool]:
    """Yields whether it is ours; the lock ends with the session of a worker that is killed."""
    if not can_migrate(connection):
        yield False
        return
    mine = bool(_one("SELECT pg_try_advisory_lock(%s)", LOCK))
    try:
        yield mine
    finally:
        if mine:
            _one("SELECT pg_advisory_unlock(%s)", LOCK)


def _existing() -> dict[str, bool]:
    """By name, whether it is whole."""
    with connection.cursor() as cursor:
        cursor.execute(_NAMES, [TABLE, f"{PREFIX}\\_%"])
        return dict(cursor.fetchall())


def _rows_about() -> int:
    """As the planner thinks, which is enough to tell a small installation."""
    return int(_one("SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass", TABLE))


def _large() -> list[tuple[NearIndex, int]]:
    """Every scope that has or may have an index, the largest first."""
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(_LARGE, [json.dumps(COUNTS_AS), KEPT_FROM, MOST_INDEXES])
        return [(NearIndex(*row), vectors) for *row, vectors in cursor.fetchall()]


def _drop(existing: dict[str, bool], *, keep: set[str]) -> list[str]:
    """Of scopes that shrank or went, of another model, and what a build left unfinished."""
    unwanted = [name for name, whole in existing.items() if not whole or name not in keep]
    for name in unwanted:
        _as_owner(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        existing.pop(name)
        logger.info("vector_index.dropped", extra={"index": name})
    return unwanted


def _build(existing: dict[str, bool], *, large: list[tuple[NearIndex, int]]) -> list[str]:
    wanted = [
        (index, n)
        for index, n in large
        if n * COUNTS_AS[index.kind] >= INDEXED_FROM and index.name not in existing
    ]
    for index, vectors in wanted:
        _as_owner(
            f"CREATE INDEX CONCURRENTLY {index.name} ON {TABLE}"
            f" USING hnsw ({index.vector('embedding')} halfvec_cosine_ops)"
            f" WHERE {index.condition()}",
            memory_mb=_memory_mb(vectors),
        )
        logger.info("vector_index.built", extra={"index": index.name, "vectors": vectors})
    return [index.name for index, _ in wanted]


def _memory_mb(vectors: int) -> int:
    needed = vectors * BYTES_PER_VECTOR // 1_000_000
    return min(MOST_MEMORY_MB, max(LEAST_MEMORY_MB, needed))


def _as_owner(statement: str, *, memory_mb: int = LEAST_MEMORY_MB) -> None:
    with as_owner(connection), connection.cursor() as cursor:
        cursor.execute(f"SET maintenance_work_mem TO '{memory_mb}MB'")
        # Several processes would need as much shared memory, of which a container has little, and
        # the other cores are for those who ask.
        cursor.execute("SET max_parallel_maintenance_workers TO 0")
        try:
            cursor.execute(statement)
        finally:
            cursor.execute("RESET maintenance_work_mem")
            cursor.execute("RESET max_parallel_maintenance_workers")


def _one(statement: str, *values: str | int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        [value] = cursor.fetchone()
    return int(value)
