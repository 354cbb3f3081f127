"""What only the embedded server's superuser can do: roles, extension, databases."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from holamem.database.layout import Passwords
from holamem.database.roles import LEAKPROOF_MATCH, LOGIN_ROLE, OWNER_ROLE, ROLES

SUPERUSER = "postgres"
DATABASE = "holamem"
CONNECT_SECONDS = 3


@contextmanager
def superuser(url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection:
        yield connection


def bootstrap(*, maintenance_url: str, template_url: str, passwords: Passwords) -> None:
    """Bring a fresh or half-made cluster to the point where the application can connect.

    Every step may run again. The database comes last: whoever can connect to it as the login
    role knows that all the rest is done.
    """
    with superuser(maintenance_url) as connection:
        _create_roles(connection, passwords)
    with superuser(template_url) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(LEAKPROOF_MATCH)
    with superuser(maintenance_url) as connection:
        if not database_exists(connection, DATABASE):
            create_database(connection, DATABASE, template="template1")


def _create_roles(connection: psycopg.Connection, passwords: Passwords) -> None:
    existing = {row[0] for row in connection.execute("SELECT rolname FROM pg_roles")}
    for role in ROLES:
        if role not in existing:
            connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
    verb = "ALTER" if LOGIN_ROLE in existing else "CREATE"
    connection.execute(
        sql.SQL("{} ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD {}").format(
            sql.SQL(verb), sql.Identifier(LOGIN_ROLE), sql.Literal(passwords.login)
        )
    )
    for role in ROLES:
        connection.execute(
            sql.SQL("GRANT {} TO {} WITH INHERIT FALSE, SET TRUE").format(
                sql.Identifier(role), sql.Identifier(LOGIN_ROLE)
            )
        )


def database_exists(connection: psycopg.Connection, name: str) -> bool:
    query = "SELECT 1 FROM pg_database WHERE datname = %s"
    return connection.execute(query, [name]).fetchone() is not None


def create_database(connection: psycopg.Connection, name: str, *, template: str) -> None:
    connection.execute(
        sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} STRATEGY FILE_COPY").format(
            sql.Identifier(name), sql.Identifier(OWNER_ROLE), sql.Identifier(template)
        )
    )


def drop_database(connection: psycopg.Connection, name: str) -> None:
    statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
    connection.execute(statement.format(sql.Identifier(name)))


def rename_database(connection: psycopg.Connection, name: str, new_name: str) -> None:
    statement = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    connection.execute(statement.format(sql.Identifier(name), sql.Identifier(new_name)))
