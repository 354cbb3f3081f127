"""The four PostgreSQL roles, who may become them, and what each may do to which table."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError
from django.db.backends.base.base import BaseDatabaseWrapper

OWNER_ROLE = "holamem_owner"
APP_ROLE = "holamem_app"
SYSTEM_ROLE = "holamem_system"
ERASER_ROLE = "holamem_eraser"
ROLES = (OWNER_ROLE, APP_ROLE, SYSTEM_ROLE, ERASER_ROLE)
LOGIN_ROLE = "holamem"  # of the embedded server; an external one may use any name
TENANT_APPS = ("workspaces", "retrieval", "agents")
APPEND_ONLY_TABLES = ("workspaces_audit", "agents_runevent", "agents_historyentry")
# Rows that are derived from nodes and messages, and go with them.
SEARCH_TABLES = ("workspaces_vectorentry", "workspaces_lexemeentry", "agents_messageentry")
# Without it row-level security keeps `@@` out of the GIN index (18 ms becomes 134 ms).
LEAKPROOF_MATCH = "ALTER FUNCTION ts_match_vq(tsvector, tsquery) LEAKPROOF"
READ_WRITE = "SELECT, INSERT, UPDATE, DELETE"


def ensure_roles(connection: BaseDatabaseWrapper) -> None:
    """Create what is missing. Raises ImproperlyConfigured with the SQL where that is refused."""
    statements = missing_statements(connection)
    try:
        for statement in statements:
            _execute(connection, statement)
    except ProgrammingError as error:
        raise ImproperlyConfigured(
            "The database needs roles and rights that its login role may not create. Run this"
            " once as a superuser, in this database:\n" + ";\n".join(statements) + ";"
        ) from error


def missing_statements(connection: BaseDatabaseWrapper) -> list[str]:
    """SQL that brings this database to what the migrations expect; empty when it is there."""
    return [
        *_missing_roles(connection),
        *_missing_memberships(connection),
        *_missing_schema_rights(connection),
        *_missing_extension(connection),
        *_missing_leakproof(connection),
    ]


def can_migrate(connection: BaseDatabaseWrapper) -> bool:
    """Whether the login role may become the owner, asked without changing anything."""
    return not _missing_roles(connection) and not _missing_memberships(connection)


def lexical_match_is_leakproof(connection: BaseDatabaseWrapper) -> bool:
    """False on most managed servers: lexical search then works, but slower."""
    return bool(
        _column(
            connection,
            "SELECT proleakproof FROM pg_proc WHERE oid = 'ts_match_vq(tsvector, tsquery)'"
            "::regprocedure",
        )[0]
    )


@contextmanager
def as_owner(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Own the tables for a while: on this connection, across transactions."""
    _execute(connection, f"SELECT set_config('role', '{OWNER_ROLE}', false)")
    try:
        yield
    finally:
        _execute(connection, "RESET ROLE")


def apply_grants(connection: BaseDatabaseWrapper) -> None:
    """Bring all rights to the listed state; run after each migration, harmless to repeat.

    The login role gets nothing on a tenant's table, so that code which forgets to take a role
    fails instead of seeing every tenant.
    """
    login = _quoted_login(connection)
    existing = set(connection.introspection.table_names())
    tenant = sorted(existing & _tenant_tables())
    plain = sorted(existing - set(tenant))
    with as_owner(connection):
        for statement in (
            *_tenant_grants(connection, tenant, login=login),
            *_grants(connection, READ_WRITE, plain, login),
            *_grants(connection, READ_WRITE, plain, SYSTEM_ROLE),
            f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {login}, {APP_ROLE},"
            f" {SYSTEM_ROLE}, {ERASER_ROLE}",
        ):
            _execute(connection, statement)


def _tenant_grants(
    connection: BaseDatabaseWrapper, tables: list[str], *, login: str
) -> Iterator[str]:
    names = _quoted(connection, tables)
    if not names:
        return
    yield f"REVOKE ALL ON {names} FROM PUBLIC, {login}, {APP_ROLE}, {SYSTEM_ROLE}, {ERASER_ROLE}"
    yield f"GRANT SELECT, INSERT, UPDATE ON {names} TO {APP_ROLE}"
    yield from _grants(connection, "DELETE", sorted(set(tables) & set(SEARCH_TABLES)), APP_ROLE)
    yield f"GRANT {READ_WRITE} ON {names} TO {SYSTEM_ROLE}, {ERASER_ROLE}"
    grown_only = _quoted(connection, sorted(set(tables) & set(APPEND_ONLY_TABLES)))
    if grown_only:
        yield f"REVOKE UPDATE, DELETE ON {grown_only} FROM {APP_ROLE}, {SYSTEM_ROLE}"


def _grants(
    connection: BaseDatabaseWrapper, rights: str, tables: Iterable[str], role: str
) -> Iterator[str]:
    names = _quoted(connection, tables)
    if names:
        yield f"GRANT {rights} ON {names} TO {role}"


def _tenant_tables() -> set[str]:
    return {
        model._meta.db_table
        for label in TENANT_APPS
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
    }


def _missing_roles(connection: BaseDatabaseWrapper) -> list[str]:
    existing = _column(connection, "SELECT rolname FROM pg_roles")
    return [f"CREATE ROLE {role} NOLOGIN" for role in ROLES if role not in existing]


def _missing_memberships(connection: BaseDatabaseWrapper) -> list[str]:
    member_of = _column(
        connection,
        "SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid"
        " JOIN pg_roles u ON u.oid = m.member"
        " WHERE u.rolname = session_user AND m.set_option AND NOT m.inherit_option",
    )
    login = _quoted_login(connection)
    return [
        f"GRANT {role} TO {login} WITH INHERIT FALSE, SET TRUE"
        for role in ROLES
        if role not in member_of
    ]


def _missing_schema_rights(connection: BaseDatabaseWrapper) -> list[str]:
    has_create = (
        "SELECT has_schema_privilege(oid, 'public', 'CREATE') FROM pg_roles WHERE rolname = %s"
    )
    if _column(connection, has_create, OWNER_ROLE) == [True]:
        return []
    return [f"GRANT USAGE, CREATE ON SCHEMA public TO {OWNER_ROLE}"]


def _missing_extension(connection: BaseDatabaseWrapper) -> list[str]:
    if _column(connection, "SELECT 1 FROM pg_extension WHERE extname = 'vector'"):
        return []
    return ["CREATE EXTENSION IF NOT EXISTS vector"]


def _missing_leakproof(connection: BaseDatabaseWrapper) -> list[str]:
    """Only a superuser may do it and all works without, so nobody is asked for it."""
    is_superuser = _column(
        connection, "SELECT rolsuper FROM pg_roles WHERE rolname = session_user"
    ) == [True]
    return [LEAKPROOF_MATCH] if is_superuser and not lexical_match_is_leakproof(connection) else []


def _quoted_login(connection: BaseDatabaseWrapper) -> str:
    """The session's user: `current_user` is another one while a role is set."""
    return connection.ops.quote_name(str(_column(connection, "SELECT session_user")[0]))


def _quoted(connection: BaseDatabaseWrapper, names: Iterable[str]) -> str:
    return ", ".join(connection.ops.quote_name(name) for name in names)


def _column(connection: BaseDatabaseWrapper, query: str, *parameters: str) -> list[object]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters or None)
        return [row[0] for row in cursor.fetchall()]


def _execute(connection: BaseDatabaseWrapper, statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
