"""Short database steps under a PostgreSQL role: the second fence between tenants.

The login role may touch no table with tenant data. Each step takes one of four roles for the
length of one transaction; `holamem_app` sees only the workspace and scopes that were set.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol
from uuid import UUID

from django.db import connection, transaction
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.sql import quote

ALL_SCOPES = "*"


class HasId(Protocol):
    @property
    def pk(self) -> UUID: ...


class ScopeViolation(RuntimeError):
    """Raised when a step of one workspace is nested in a step of another."""


Scope = tuple[str, str, str]  # role, workspace, scopes
SYSTEM: Scope = ("holamem_system", "", "")
_NONE: Scope = ("none", "", "")
_current: ContextVar[Scope] = ContextVar("database_scope", default=_NONE)
_is_joined: ContextVar[bool] = ContextVar("joined_scope", default=False)
_is_reading: ContextVar[bool] = ContextVar("reading_scope", default=False)
_at_commit: ContextVar[Callable[[], None] | None] = ContextVar("at_commit", default=None)


@contextmanager
def workspace_scope(workspace: HasId, scopes: Sequence[UUID] | str | None = None) -> Iterator[None]:
    """One transaction as `holamem_app`, limited to this workspace and these scopes.

    `scopes` None means the shared scope only; ALL_SCOPES means every scope of the workspace.
    Nesting under the same workspace and scopes joins the outer step; anything else is refused.
    """
    outer = _current.get()
    wanted = scope_of(workspace, scopes)
    if outer != _NONE and outer[0] == "holamem_app" and outer != wanted:
        raise ScopeViolation("a workspace step cannot be nested in another one")
    with _step(wanted):
        yield


@contextmanager
def reading_scope(workspace: HasId, scopes: Sequence[UUID] | str | None = None) -> Iterator[None]:
    """One transaction for several reads, each of which would be a step of its own.

    All see the same moment: between two reads a tree may be switched to its next generation.

    Steps of the same workspace and scopes inside it join without a savepoint, since there is
    nothing to take back: the database refuses writes until it ends. Inside a longer transaction
    it is a step like any other.
    """
    if connection.in_atomic_block:
        with workspace_scope(workspace, scopes):
            yield
        return
    token = _is_reading.set(True)
    try:
        with _step(scope_of(workspace, scopes), read_only=True), _joined():
            yield
    finally:
        _is_reading.reset(token)


def may_end_early() -> bool:
    """Whether the transaction is that of a `reading_scope`, which has nothing to lose by its end."""
    return _is_reading.get()


@contextmanager
def system_scope() -> Iterator[None]:
    """One transaction as `holamem_system`: key look-up, sweeper, verify, superuser admin."""
    with _step(SYSTEM):
        yield


@contextmanager
def joined_system_scope() -> Iterator[None]:
    """One transaction for several system steps inside it, which save their round trips."""
    with system_scope(), _joined():
        yield


@contextmanager
def eraser_scope() -> Iterator[None]:
    """One transaction as `holamem_eraser`, the only role that may clear immutable columns."""
    with _step(("holamem_eraser", "", "")):
        yield


@contextmanager
def at_commit(act: Callable[[], None]) -> Iterator[None]:
    """`act` runs at the end of every transaction of steps that may write, as `holamem_system`.

    It is a part of the transaction: what it raises takes all back.
    """
    token = _at_commit.set(act)
    try:
        yield
    finally:
        _at_commit.reset(token)


@contextmanager
def _joined() -> Iterator[None]:
    token = _is_joined.set(True)
    try:
        yield
    finally:
        _is_joined.reset(token)


def scope_of(workspace: HasId, scopes: Sequence[UUID] | str | None) -> Scope:
    """What a step of this workspace and these scopes sets."""
    return "holamem_app", str(workspace.pk), _scope_value(workspace, scopes)


def _scope_value(workspace: HasId, scopes: Sequence[UUID] | str | None) -> str:
    if scopes is None:
        return str(workspace.pk)
    if isinstance(scopes, str):
        return scopes
    return ",".join(sorted(str(scope) for scope in scopes))


@contextmanager
def _step(wanted: Scope, *, read_only: bool = False) -> Iterator[None]:
    """A setting ends with its transaction; inside a longer one the former is put back."""
    outer = _current.get()
    if _is_joined.get() and outer == wanted:
        yield
        return
    is_inner = connection.in_atomic_block
    token = _current.set(wanted)
    try:
        with transaction.atomic():
            if is_inner:
                _apply(wanted)
            else:
                _begin(wanted, read_only=read_only)
            yield
            if is_inner and not connection.needs_rollback:  # a rollback takes it back by itself
                _apply(outer)
            if not (is_inner or read_only):
                _act_at_commit()
    finally:
        _current.reset(token)


def _act_at_commit() -> None:
    act = _at_commit.get()
    if act is not None and not connection.needs_rollback:
        _apply(SYSTEM)
        act()


def _apply(scope: Scope) -> None:
    """Set role and scope until the end of the transaction, in one round trip."""
    with connection.cursor() as cursor:
        cursor.execute(SETTINGS, scope)


def _begin(scope: Scope, *, read_only: bool) -> None:
    """The same in the message of the BEGIN, which the driver would send by itself before it."""
    connection.ensure_connection()
    raw = connection.connection
    settings = _READ_ONLY if read_only else SETTINGS
    level = " ISOLATION LEVEL REPEATABLE READ" if read_only else ""
    message = f"BEGIN{level}; {settings % tuple(quote(value) for value in scope)}"
    with connection.wrap_database_errors:
        result = raw.pgconn.exec_(message.encode())
        if result.status != ExecStatus.TUPLES_OK:
            raise error_from_result(result, raw.info.encoding)


# Plans of prepared statements are kept whatever their values. Some hundred rows by an index cost
# less than a walk over all of a workspace, which the default for spinning disks prefers. A vector
# index of 100,000 finds 96 % of the forty nearest (120 in place of 400: 94 %), in no more time, and
# goes on where a filter takes some of it away.
SETTINGS = (
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', true),"
    " set_config('random_page_cost', '1.1', true),"
    " set_config('hnsw.ef_search', '400', true),"
    " set_config('hnsw.iterative_scan', 'relaxed_order', true),"
    " set_config('role', %s, true),"
    " set_config('holamem.workspace_id', %s, true),"
    " set_config('holamem.scope_ids', %s, true)"
)
_READ_ONLY = f"{SETTINGS}, set_config('transaction_read_only', 'on', true)"
