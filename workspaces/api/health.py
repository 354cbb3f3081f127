"""Liveness and readiness, for process supervisors and load balancers."""

import logging
import os
from collections.abc import Callable
from functools import cache

from django.core.files.storage import storages
from django.db import DatabaseError, ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from holamem.database.schema import schema_fault
from holamem.errors import HolamemError
from holamem.providers.registry import embedder
from workspaces.index.embedding import current_model
from workspaces.services.status import oldest_due_seconds, waits_for_storage

logger = logging.getLogger(__name__)

QUEUE_AGE_SECONDS = 900  # work that is due but waits longer means that no worker runs
FREE_BYTES = 64 * 1024 * 1024
FREE_FILES = 1000  # a disk may run out of them first

Check = Callable[[], bool]


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    return _uncached({"status": "live"}, status=200)


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """503 when one check fails. Says which, never why: the reason is in the log."""
    results = {name: _passes(name, check) for name, check in CHECKS.items()}
    ready = all(results.values())
    checks = {name: "ok" if passed else "failed" for name, passed in results.items()}
    return _uncached(
        {"status": "ready" if ready else "not_ready", "checks": checks},
        status=200 if ready else 503,
    )


def _uncached(body: dict[str, object], *, status: int) -> JsonResponse:
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})


def _passes(name: str, check: Check) -> bool:
    try:
        passed = check()
    except (DatabaseError, HolamemError, OSError) as error:
        logger.warning("readiness check failed", extra={"check": name}, exc_info=error)
        return False
    if not passed:
        logger.warning("readiness check failed", extra={"check": name})
    return passed


def database_answers() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,))


_migrated = False


def migrations_are_applied() -> bool:
    """All of ours and none of a newer release. Remembered once true: none is ever taken back."""
    global _migrated
    try:
        _migrated = _migrated or (not schema_fault(connection) and not _waiting_migrations())
    except ProgrammingError:  # the right to read the list is given by the end of `migrate`
        return False
    return _migrated


def _waiting_migrations() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def body_store_takes_files() -> bool:
    return body_store_is_writable() and not waits_for_storage()


def body_store_is_writable() -> bool:
    """By its rights and its room; whether it keeps what is written shows only in the work."""
    folder = storages["bodies"].path("")
    nearest = folder
    while not os.path.exists(nearest):  # made with the first body
        nearest = os.path.dirname(nearest)
    disk = os.statvfs(nearest)
    has_files = disk.f_files == 0 or disk.f_favail > FREE_FILES  # some file systems count none
    has_room = disk.f_bavail * disk.f_frsize > FREE_BYTES and has_files
    return os.access(nearest, os.W_OK | os.X_OK) and has_room


def queue_keeps_up() -> bool:
    return oldest_due_seconds() < QUEUE_AGE_SECONDS


@cache
def embedding_model_loads() -> bool:
    """And is the one whose vectors are stored. Once true, it stays so for the process."""
    return len(embedder().embed_query("ready")) == current_model().dimension


CHECKS: dict[str, Check] = {
    "database": database_answers,
    "migrations": migrations_are_applied,
    "body_store": body_store_takes_files,
    "queue_age": queue_keeps_up,
    "embedding_model": embedding_model_loads,
}
