"""Tenancy: every tenant's table is fenced in, and no key is stored in the clear."""

# ruff: noqa: S608 - queries are put together from the constants of these modules only

from collections.abc import Callable
from functools import partial
from typing import Any

from django.apps import apps
from django.db import connection

from holamem.database.roles import APP_ROLE, ROLES, TENANT_APPS
from holamem.database.scope import system_scope
from workspaces.services.principals import TOKEN_PREFIX
from workspaces.verify.findings import Check, InstallationCheck, Violation, rows

MIGRATE = "Run `manage.py migrate`; a new table needs a policy and a place in the list."
# Rows of a tenant rather than of a workspace, and what belongs to the whole installation.
WITHOUT_WORKSPACE = frozenset(
    {
        "workspaces_tenant",
        "workspaces_membership",
        "workspaces_invitation",
        "workspaces_workspace",
        "workspaces_embeddingmodel",
    }
)
WORKSPACE_OPTIONAL = frozenset(
    {"workspaces_apikey", "workspaces_audit", "workspaces_idempotencyrecord"}
)
# Of the workspace as a whole: every scope of it shares them.
WORKSPACE_ONLY = frozenset(
    {
        "workspaces_enduser",
        "workspaces_usageday",
        "workspaces_circuit",
        "agents_agent",
        "agents_distillationnight",
    }
)
WITHOUT_SCOPE = WITHOUT_WORKSPACE | WORKSPACE_OPTIONAL | WORKSPACE_ONLY
WITHOUT_POLICY = frozenset({"workspaces_embeddingmodel"})
TRIGGERS = (
    ("workspaces_sourceleaf", "protect_leaf"),
    ("workspaces_summarynode", "protect_summary"),
    ("workspaces_audit", "append_only"),
    ("agents_runevent", "append_only"),
    ("agents_historyentry", "append_only"),
)
KEY_PATTERN = rf"\y{TOKEN_PREFIX}_[0-9a-f]{{10}}_[0-9a-f]{{64}}\y"


def tenant_tables() -> list[str]:
    """Tables of the apps that hold tenants' data, in order of name."""
    models = [
        model
        for label in TENANT_APPS
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
    ]
    return sorted(model._meta.db_table for model in models)


def _query(kind: str, query: str, **parameters: Any) -> list[Violation]:
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return [Violation(f"{kind}:{row[0]}", " ".join(map(str, row[1:]))) for row in cursor]


def missing_column(column: str, *, exempt: frozenset[str]) -> list[Violation]:
    return _query(
        "table",
        "SELECT name, %(column)s FROM unnest(%(tables)s::text[]) AS name"
        " WHERE NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = name::regclass"
        " AND attname = %(column)s AND attnotnull AND NOT attisdropped)",
        column=column,
        tables=[table for table in tenant_tables() if table not in exempt],
    )


def single_column_keys() -> list[Violation]:
    """Foreign keys between two tables with a workspace that do not include it."""
    return _query(
        "table",
        "SELECT c.conrelid::regclass::text, c.conname FROM pg_constraint AS c"
        " JOIN pg_attribute AS own ON own.attrelid = c.conrelid AND own.attname = 'workspace_id'"
        " JOIN pg_attribute AS theirs ON theirs.attrelid = c.confrelid"
        " AND theirs.attname = 'workspace_id'"
        " WHERE c.contype = 'f' AND c.conrelid::regclass::text = ANY (%(tables)s)"
        " AND NOT own.attnum = ANY (c.conkey)",
        tables=tenant_tables(),
    )


def unprotected_references() -> list[Violation]:
    """Relations that the models declare between such tables but no constraint holds."""
    declared = [
        (model._meta.db_table, field.column)
        for label in TENANT_APPS
        for model in apps.get_app_config(label).get_models()
        for field in model._meta.concrete_fields
        if field.related_model is not None and not getattr(field, "db_constraint", True)
    ]
    return _query(
        "table",
        "SELECT wanted.name, wanted.col FROM unnest(%(tables)s::text[], %(columns)s::text[])"
        " AS wanted (name, col) WHERE NOT EXISTS (SELECT 1 FROM pg_constraint AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attname = wanted.col"
        " WHERE c.contype = 'f' AND c.conrelid = wanted.name::regclass"
        " AND a.attnum = ANY (c.conkey))",
        tables=[table for table, _ in declared],
        columns=[column for _, column in declared],
    )


def tables_without_policy() -> list[Violation]:
    return _query(
        "table",
        "SELECT relname FROM pg_class WHERE relname = ANY (%(tables)s) AND relkind = 'r'"
        " AND relnamespace = 'public'::regnamespace"
        " AND NOT (relrowsecurity AND relforcerowsecurity AND EXISTS ("
        "SELECT 1 FROM pg_policy WHERE polrelid = pg_class.oid))",
        tables=[table for table in tenant_tables() if table not in WITHOUT_POLICY],
    )


def powerful_roles() -> list[Violation]:
    return _query(
        "role",
        "SELECT rolname FROM pg_roles WHERE (rolname = ANY (%(roles)s) OR rolname = session_user)"
        " AND (rolsuper OR rolbypassrls) UNION"
        " SELECT tableowner FROM pg_tables WHERE schemaname = 'public' AND tableowner = %(app)s",
        roles=list(ROLES),
        app=APP_ROLE,
    )


def missing_triggers() -> list[Violation]:
    return _query(
        "table",
        "SELECT wanted.name, wanted.tg FROM unnest(%(tables)s::text[], %(triggers)s::text[])"
        " AS wanted (name, tg) WHERE NOT EXISTS (SELECT 1 FROM pg_trigger"
        " WHERE tgrelid = wanted.name::regclass AND tgname = wanted.tg AND tgenabled <> 'D')",
        tables=[table for table, _ in TRIGGERS],
        triggers=[trigger for _, trigger in TRIGGERS],
    )


def unhashed_keys() -> list[Violation]:
    return _query(
        "api_key",
        "SELECT id FROM workspaces_apikey WHERE secret_sha256 !~ '^[0-9a-f]{64}$'"
        " UNION SELECT id FROM workspaces_invitation WHERE token_sha256 !~ '^[0-9a-f]{64}$'",
    )


def _holds_key(table: str, *columns: str) -> Callable[..., list[Violation]]:
    text = " || ' ' || ".join(f"{column}::text" for column in columns)
    return rows(
        table,
        f"SELECT id FROM workspaces_{table} WHERE workspace_id = %(workspace)s"
        f" AND ({text}) ~ '{KEY_PATTERN}'",
    )


INSTALLATION_CHECKS = (
    InstallationCheck(
        "S1",
        "A table with tenants' data has a workspace.",
        partial(missing_column, "workspace_id", exempt=WITHOUT_WORKSPACE | WORKSPACE_OPTIONAL),
        MIGRATE,
    ),
    InstallationCheck(
        "S1",
        "A table with a workspace's data has a scope.",
        partial(missing_column, "scope_id", exempt=WITHOUT_SCOPE),
        MIGRATE,
    ),
    InstallationCheck(
        "S2",
        "A foreign key between tenants' tables includes the workspace.",
        single_column_keys,
        MIGRATE,
    ),
    InstallationCheck(
        "S2",
        "A relation between tenants' tables has a constraint.",
        unprotected_references,
        MIGRATE,
    ),
    InstallationCheck(
        "S3",
        "Row-level security is forced on every tenant's table.",
        tables_without_policy,
        MIGRATE,
    ),
    InstallationCheck(
        "S3",
        "No role of the application passes row-level security or owns a table.",
        powerful_roles,
        "Take SUPERUSER and BYPASSRLS from the role.",
    ),
    InstallationCheck(
        "S4",
        "A key, and an invitation, is stored as a hash.",
        unhashed_keys,
        "Revoke the key or the invitation.",
    ),
    InstallationCheck(
        "B8", "Triggers refuse to change what is immutable.", missing_triggers, MIGRATE
    ),
)

CHECKS = tuple(
    Check("S4", "No stored text holds an API key.", find, "Erase the text and revoke the key.")
    for find in (
        _holds_key("event", "payload_text", "metadata", "error"),
        _holds_key("chunk", "text"),
        _holds_key("sourceleaf", "title", "summary"),
        _holds_key("summarynode", "title", "summary"),
        _holds_key("job", "payload", "error"),
    )
)
