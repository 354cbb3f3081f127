"""Composite foreign key and row-level security of the read side's tables."""

from django.db import migrations

# In sub-selects, so that each is computed once a statement and not once a row.
WORKSPACE = "(SELECT nullif(current_setting('holamem.workspace_id', true), '')::uuid)"
SCOPES = "current_setting('holamem.scope_ids', true)"
IS_IN_SCOPE = (
    f"((SELECT {SCOPES} = '*') OR scope_id = ANY"
    f" ((SELECT string_to_array(nullif(nullif({SCOPES}, ''), '*'), ',')::uuid[])::uuid[]))"
)
IN_SCOPE = f"workspace_id = {WORKSPACE} AND {IS_IN_SCOPE}"


def policy_sql(name: str) -> tuple[str, str]:
    return (
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
        f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY;"
        f"CREATE POLICY tenant_rows ON {name} TO holamem_app USING ({IN_SCOPE});"
        f"CREATE POLICY all_rows ON {name} TO holamem_owner, holamem_system, holamem_eraser USING (true);",
        f"DROP POLICY tenant_rows ON {name}; DROP POLICY all_rows ON {name};"
        f"ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY;"
        f"ALTER TABLE {name} DISABLE ROW LEVEL SECURITY;",
    )


class Migration(migrations.Migration):
    dependencies = [("retrieval", "0001_initial"), ("workspaces", "0002_isolation")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE retrieval_gap ADD CONSTRAINT gap_answered_by_in_workspace"
            " FOREIGN KEY (workspace_id, answered_by_id)"
            " REFERENCES workspaces_sourceleaf (workspace_id, id) DEFERRABLE INITIALLY DEFERRED",
            "ALTER TABLE retrieval_gap DROP CONSTRAINT gap_answered_by_in_workspace",
        ),
        *[migrations.RunSQL(*policy_sql(name)) for name in ("retrieval_gap", "retrieval_retrievallog")],
    ]
