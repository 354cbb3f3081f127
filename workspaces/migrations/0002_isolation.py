"""Composite foreign keys, immutability triggers and row-level security.

Django has no composite foreign key fields and no policies, hence SQL. Roles exist before this
runs: `holamem.database.roles.ensure_roles` makes them.
"""

from django.db import migrations

T = "workspaces_"
FOREIGN_KEYS = [
    # table, columns, parent table, parent columns
    ("apikey", "workspace_id, end_user_id", "enduser", "workspace_id, id"),
    ("chunk", "workspace_id, event_id", "event", "workspace_id, id"),
    ("chunk", "workspace_id, leaf_id", "sourceleaf", "workspace_id, id"),
    ("tree", "workspace_id, entity_id", "entity", "workspace_id, id"),
    ("tree", "workspace_id, root_id", "summarynode", "workspace_id, id"),
    ("sourceleaf", "workspace_id, scope_id, category, tree_id", "tree", "workspace_id, scope_id, category, id"),
    ("sourceleaf", "workspace_id, parent_id", "summarynode", "workspace_id, id"),
    ("sourceleaf", "workspace_id, chunk_id", "chunk", "workspace_id, id"),
    ("sourceleaf", "workspace_id, entity_id", "entity", "workspace_id, id"),
    ("sourceleaf", "workspace_id, supersedes_leaf_id", "sourceleaf", "workspace_id, id"),
    ("sourceleaf", "workspace_id, superseded_by_id", "sourceleaf", "workspace_id, id"),
    ("sourceleaf", "workspace_id, moved_from_leaf_id", "sourceleaf", "workspace_id, id"),
    ("summarynode", "workspace_id, scope_id, category, tree_id", "tree", "workspace_id, scope_id, category, id"),
    ("summarynode", "workspace_id, parent_id", "summarynode", "workspace_id, id"),
    ("summarynode", "workspace_id, replaces_id", "summarynode", "workspace_id, id"),
    ("leafsource", "workspace_id, leaf_id", "sourceleaf", "workspace_id, id"),
    ("leafsource", "workspace_id, event_id", "event", "workspace_id, id"),
    ("leafentity", "workspace_id, leaf_id", "sourceleaf", "workspace_id, id"),
    ("leafentity", "workspace_id, entity_id", "entity", "workspace_id, id"),
]


def foreign_key_sql(index: int) -> tuple[str, str]:
    table, columns, parent, parent_columns = FOREIGN_KEYS[index]
    name = f"{table}_{columns.split(', ')[-1]}_in_workspace"
    return (
        f"ALTER TABLE {T}{table} ADD CONSTRAINT {name} FOREIGN KEY ({columns})"
        f" REFERENCES {T}{parent} ({parent_columns}) DEFERRABLE INITIALLY DEFERRED",
        f"ALTER TABLE {T}{table} DROP CONSTRAINT {name}",
    )


LEAF_TRIGGER = """
CREATE FUNCTION holamem_protect_leaf() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_user = 'holamem_eraser' THEN
    RETURN COALESCE(NEW, OLD);
  END IF;
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'a source leaf is never deleted' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF (NEW.id, NEW.workspace_id, NEW.scope_id, NEW.tree_id, NEW.category, NEW.title, NEW.summary,
      NEW.body_path, NEW.body_sha256, NEW.fingerprint, NEW.observed_at, NEW.origin_kind, NEW.created_at)
     IS DISTINCT FROM
     (OLD.id, OLD.workspace_id, OLD.scope_id, OLD.tree_id, OLD.category, OLD.title, OLD.summary,
      OLD.body_path, OLD.body_sha256, OLD.fingerprint, OLD.observed_at, OLD.origin_kind, OLD.created_at) THEN
    RAISE EXCEPTION 'a source leaf is immutable' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER protect_leaf BEFORE UPDATE OR DELETE ON workspaces_sourceleaf
  FOR EACH ROW EXECUTE FUNCTION holamem_protect_leaf();
"""
LEAF_TRIGGER_REVERSE = """
DROP TRIGGER protect_leaf ON workspaces_sourceleaf; DROP FUNCTION holamem_protect_leaf();
"""

SUMMARY_TRIGGER = """
CREATE FUNCTION holamem_protect_summary() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_user = 'holamem_eraser' THEN
    RETURN COALESCE(NEW, OLD);
  END IF;
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'a summary node is never deleted' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF (NEW.id, NEW.workspace_id, NEW.scope_id, NEW.tree_id, NEW.category, NEW.title, NEW.summary,
      NEW.body_sha256, NEW.child_ids, NEW.child_kind, NEW.child_set_sha256, NEW.height,
      NEW.time_range_start, NEW.time_range_end, NEW.created_at)
     IS DISTINCT FROM
     (OLD.id, OLD.workspace_id, OLD.scope_id, OLD.tree_id, OLD.category, OLD.title, OLD.summary,
      OLD.body_sha256, OLD.child_ids, OLD.child_kind, OLD.child_set_sha256, OLD.height,
      OLD.time_range_start, OLD.time_range_end, OLD.created_at) THEN
    RAISE EXCEPTION 'a sealed summary is immutable' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER protect_summary BEFORE UPDATE OR DELETE ON workspaces_summarynode
  FOR EACH ROW EXECUTE FUNCTION holamem_protect_summary();
"""
SUMMARY_TRIGGER_REVERSE = """
DROP TRIGGER protect_summary ON workspaces_summarynode; DROP FUNCTION holamem_protect_summary();
"""

AUDIT_TRIGGER = """
CREATE FUNCTION holamem_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_user = 'holamem_eraser' THEN
    RETURN COALESCE(NEW, OLD);
  END IF;
  RAISE EXCEPTION 'this table only grows' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON workspaces_audit
  FOR EACH ROW EXECUTE FUNCTION holamem_append_only();
"""
AUDIT_TRIGGER_REVERSE = """
DROP TRIGGER append_only ON workspaces_audit; DROP FUNCTION holamem_append_only();
"""

# Tables whose rows belong to one scope of one workspace.
SCOPED = ["event", "chunk", "idempotencyrecord", "entity", "tree", "summarynode", "sourceleaf",
          "leafsource", "leafentity", "retiredbody", "vectorentry", "lexemeentry", "job"]
# Rows of a workspace without a scope: the end users themselves, whose id is the scope.
WORKSPACE_ONLY = ["enduser"]
# Tenant tables: `holamem_app` sees the row of its workspace, or of that workspace's tenant.
# They have no workspace column of their own to filter by, except as below.

# In sub-selects, so that each is computed once a statement and not once a row.
WORKSPACE = "(SELECT nullif(current_setting('holamem.workspace_id', true), '')::uuid)"
SCOPES = "current_setting('holamem.scope_ids', true)"
IS_IN_SCOPE = (
    f"((SELECT {SCOPES} = '*') OR scope_id = ANY"
    f" ((SELECT string_to_array(nullif(nullif({SCOPES}, ''), '*'), ',')::uuid[])::uuid[]))"
)
IN_WORKSPACE = f"workspace_id = {WORKSPACE}"
IN_SCOPE = f"{IN_WORKSPACE} AND {IS_IN_SCOPE}"
POLICIES = {
    **{table: IN_SCOPE for table in SCOPED},
    **{table: IN_WORKSPACE for table in WORKSPACE_ONLY},
    "workspace": f"id = {WORKSPACE}",
    "audit": IN_WORKSPACE,
    "apikey": IN_WORKSPACE,
    "tenant": f"id = (SELECT tenant_id FROM {T}workspace WHERE id = {WORKSPACE})",
    "membership": f"tenant_id = (SELECT tenant_id FROM {T}workspace WHERE id = {WORKSPACE})",
}


def policy_sql(table: str) -> tuple[str, str]:
    name = T + table
    return (
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
        f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY;"
        f"CREATE POLICY tenant_rows ON {name} TO holamem_app USING ({POLICIES[table]});"
        f"CREATE POLICY all_rows ON {name} TO holamem_owner, holamem_system, holamem_eraser USING (true);",
        f"DROP POLICY tenant_rows ON {name}; DROP POLICY all_rows ON {name};"
        f"ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY;"
        f"ALTER TABLE {name} DISABLE ROW LEVEL SECURITY;",
    )


INDEX_STORAGE = (
    "ALTER TABLE workspaces_vectorentry ALTER COLUMN embedding SET STORAGE PLAIN;"
    # Tenant and terms meet inside one index, through the scope lexeme.
    "CREATE INDEX lexeme_terms ON workspaces_lexemeentry USING gin (lexemes) WITH (fastupdate = off);"
)
INDEX_STORAGE_REVERSE = "DROP INDEX lexeme_terms;"


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0001_initial")]

    operations = [
        *[migrations.RunSQL(*foreign_key_sql(index)) for index in range(len(FOREIGN_KEYS))],
        migrations.RunSQL(LEAF_TRIGGER, LEAF_TRIGGER_REVERSE),
        migrations.RunSQL(SUMMARY_TRIGGER, SUMMARY_TRIGGER_REVERSE),
        migrations.RunSQL(AUDIT_TRIGGER, AUDIT_TRIGGER_REVERSE),
        migrations.RunSQL(INDEX_STORAGE, INDEX_STORAGE_REVERSE),
        *[migrations.RunSQL(*policy_sql(table)) for table in POLICIES],
    ]
