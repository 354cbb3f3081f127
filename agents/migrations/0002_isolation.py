"""Composite foreign keys, row-level security and append-only rows of the agents' tables."""

from django.db import migrations

T = "agents_"
FOREIGN_KEYS = [
    # table, columns, parent table, parent columns
    ("session", "workspace_id, agent_id", "agent", "workspace_id, id"),
    ("message", "workspace_id, session_id", "session", "workspace_id, id"),
    ("message", "workspace_id, run_id", "run", "workspace_id, id"),
    ("messageentry", "workspace_id, message_id", "message", "workspace_id, id"),
    ("run", "workspace_id, session_id", "session", "workspace_id, id"),
    ("run", "workspace_id, trigger_message_id", "message", "workspace_id, id"),
    ("run", "workspace_id, retry_of_id", "run", "workspace_id, id"),
    ("toolcall", "workspace_id, run_id", "run", "workspace_id, id"),
    ("approval", "workspace_id, session_id", "session", "workspace_id, id"),
    ("approval", "workspace_id, run_id", "run", "workspace_id, id"),
    ("approvalgrant", "workspace_id, session_id", "session", "workspace_id, id"),
    ("approvalgrant", "workspace_id, approval_id", "approval", "workspace_id, id"),
    ("compactioncheckpoint", "workspace_id, session_id", "session", "workspace_id, id"),
    ("runevent", "workspace_id, session_id", "session", "workspace_id, id"),
]


def foreign_key_sql(
    table: str, columns: str, parent: str, parent_columns: str
) -> tuple[str, str]:
    name = f"{table}_{columns.split(', ')[-1]}_in_workspace"
    return (
        f"ALTER TABLE {T}{table} ADD CONSTRAINT {name} FOREIGN KEY ({columns})"
        f" REFERENCES {T}{parent} ({parent_columns}) DEFERRABLE INITIALLY DEFERRED",
        f"ALTER TABLE {T}{table} DROP CONSTRAINT {name}",
    )


SCOPED = [
    "session", "message", "messageentry", "run", "toolcall", "approval", "approvalgrant",
    "compactioncheckpoint", "runevent", "textmemory", "textmemoryversion", "historyentry",
]
# Agents belong to the workspace: every end user of it may talk to them.
WORKSPACE_ONLY = ["agent"]

# In sub-selects, so that each is computed once a statement and not once a row.
WORKSPACE = "(SELECT nullif(current_setting('holamem.workspace_id', true), '')::uuid)"
SCOPES = "current_setting('holamem.scope_ids', true)"
IN_WORKSPACE = f"workspace_id = {WORKSPACE}"
IN_SCOPE = (
    f"{IN_WORKSPACE} AND ((SELECT {SCOPES} = '*') OR scope_id = ANY"
    f" ((SELECT string_to_array(nullif(nullif({SCOPES}, ''), '*'), ',')::uuid[])::uuid[]))"
)


def policy_sql(table: str, rows: str) -> tuple[str, str]:
    name = T + table
    return (
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
        f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY;"
        f"CREATE POLICY tenant_rows ON {name} TO holamem_app USING ({rows});"
        f"CREATE POLICY all_rows ON {name} TO holamem_owner, holamem_system, holamem_eraser"
        " USING (true);",
        f"DROP POLICY tenant_rows ON {name}; DROP POLICY all_rows ON {name};"
        f"ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY;"
        f"ALTER TABLE {name} DISABLE ROW LEVEL SECURITY;",
    )


def append_only_sql(table: str) -> tuple[str, str]:
    """The function is the audit log's: only the eraser may change a row."""
    return (
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {T}{table}"
        " FOR EACH ROW EXECUTE FUNCTION holamem_append_only();",
        f"DROP TRIGGER append_only ON {T}{table};",
    )


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_initial"), ("workspaces", "0002_isolation")]

    operations = [
        *[migrations.RunSQL(*foreign_key_sql(*key)) for key in FOREIGN_KEYS],
        *[migrations.RunSQL(*policy_sql(table, IN_SCOPE)) for table in SCOPED],
        *[migrations.RunSQL(*policy_sql(table, IN_WORKSPACE)) for table in WORKSPACE_ONLY],
        *[migrations.RunSQL(*append_only_sql(table)) for table in ("runevent", "historyentry")],
    ]
