"""Short database steps under a PostgreSQL role: the second fence between tenants.

The login role may touch no table with tenant data. Each step takes one of four roles for the
length of one transaction; `holamem_app` sees only the workspace and scopes that were set.
"""

from collections.abc import Iterator, Sequence
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


_NONE = ("none", "", "")
_current: ContextVar[tuple[str, str, str]] = ContextVar("database_scope", default=_NONE)
_is_joined: ContextVar[bool] = ContextVar("joined_scope", default=False)


@contextmanager
def workspace_scope(workspace: HasId, scopes: Sequence[UUID] | str | None = None) -> Iterator[None]:
    """One transaction as `holamem_app`, limited to this workspace and these scopes.

    `scopes` None means the shared scope only; ALL_SCOPES means every scope of the workspace.
    Nesting under the same workspace and scopes joins the outer step; anything else is refused.
    """
    value = _scope_value(workspace, scopes)
    outer = _current.get()
    wanted = ("holamem_app", str(workspace.pk), value)
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
    wanted = ("holamem_app", str(workspace.pk), _scope_value(workspace, scopes))
    with _step(wanted, read_only=True), _joined():
        yield


@contextmanager
def system_scope() -> Iterator[None]:
    """One transaction as `holamem_system`: key look-up, sweeper, verify, superuser admin."""
    with _step(("holamem_system", "", "")):
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
def _joined() -> Iterator[None]:
    token = _is_joined.set(True)
    try:
        yield
    finally:
        _is_joined.reset(token)


def _scope_value(workspace: HasId, scopes: Sequence[UUID] | str | None) -> str:
    if scopes is None:
        return str(workspace.pk)
    if isinstance(scopes, str):
        return scopes
    return ",".join(sorted(str(scope) for scope in scopes))


@contextmanager
def _step(wanted: tuple[str, str, str], *, read_only: bool = False) -> Iterator[None]:
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
    finally:
        _current.reset(token)


def _apply(scope: tuple[str, str, str]) -> None:
    """Set role and scope until the end of the transaction, in one round trip."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTINGS, scope)


def _begin(scope: tuple[str, str, str], *, read_only: bool) -> None:
    """The same in the message of the BEGIN, which the driver would send by itself before it."""
    connection.ensure_connection()
    raw = connection.connection
    settings = _READ_ONLY if read_only else _SETTINGS
    level = " ISOLATION LEVEL REPEATABLE READ" if read_only else ""
    message = f"BEGIN{level}; {settings % tuple(quote(value) for value in scope)}"
    with connection.wrap_database_errors:
        result = raw.pgconn.exec_(message.encode())
        if result.status != ExecStatus.TUPLES_OK:
            raise error_from_result(result, raw.info.encoding)


# Plans of prepared statements are kept whatever their values.
_SETTINGS = (
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', true),"
    " set_config('role', %s, true),"
    " set_config('holamem.workspace_id', %s, true),"
    " set_config('holamem.scope_ids', %s, true)"
)
_READ_ONLY = f"{_SETTINGS}, set_config('transaction_read_only', 'on', true)"
