import django.db.models.deletion
import holamem.ids
from django.db import migrations, models

T = "workspaces_"


def policy_sql(table: str) -> tuple[str, str]:
    """As for every scoped table: `holamem_app` sees the workspace and the scopes of its step."""
    name = T + table
    scopes = "current_setting('holamem.scope_ids', true)"
    return (
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
        f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY;"
        f"CREATE POLICY tenant_rows ON {name} TO holamem_app USING ("
        "workspace_id = (SELECT nullif(current_setting('holamem.workspace_id', true), '')::uuid)"
        f" AND ((SELECT {scopes} = '*') OR scope_id = ANY"
        f" ((SELECT string_to_array(nullif(nullif({scopes}, ''), '*'), ',')::uuid[])::uuid[])));"
        f"CREATE POLICY all_rows ON {name} TO holamem_owner, holamem_system, holamem_eraser"
        " USING (true);",
        f"DROP POLICY tenant_rows ON {name}; DROP POLICY all_rows ON {name};"
        f"ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY;"
        f"ALTER TABLE {name} DISABLE ROW LEVEL SECURITY;",
    )


# As its owner, since a step that writes one end user's memory does not see the webhooks, which
# belong to the workspace. The arguments are the event and then pairs: a name in the message and
# the column of its value. The id is a UUIDv7, by which deliveries are ordered.
TELL = """
CREATE FUNCTION holamem_tell_webhooks() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  columns jsonb;
  message jsonb := '{}';
  noise text;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM workspaces_webhook
                  WHERE workspace_id = NEW.workspace_id AND enabled) THEN
    RETURN NULL;
  END IF;
  columns := to_jsonb(NEW);
  FOR i IN 1 .. TG_NARGS - 2 BY 2 LOOP
    message := message || jsonb_build_object(TG_ARGV[i], columns -> TG_ARGV[i + 1]);
  END LOOP;
  INSERT INTO workspaces_webhookdelivery (id, workspace_id, scope_id, webhook_id, event, data,
         state, attempts, next_try_at, error, created_at)
  SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '7'
          || substr(noise.hex, 14, 3) || '8' || substr(noise.hex, 18, 15))::uuid,
         hook.workspace_id, hook.scope_id, hook.id, TG_ARGV[0], message,
         'pending', 0, now(), '', now()
    FROM workspaces_webhook AS hook
   CROSS JOIN LATERAL (SELECT replace(gen_random_uuid()::text, '-', '') AS hex
                        WHERE hook.id IS NOT NULL) AS noise
   WHERE hook.workspace_id = NEW.workspace_id AND hook.enabled
     AND (hook.events = '[]'::jsonb OR hook.events ? TG_ARGV[0]);
  RETURN NULL;
END $$;
"""
TELL_REVERSE = "DROP FUNCTION holamem_tell_webhooks();"
LEAF = "'leaf_id', 'id', 'tree_id', 'tree_id'"
# What a restore or a migration loads, which is done as the owner, is told to nobody.
NOT_LOADED = "current_user <> 'holamem_owner'"
TRIGGERS = [
    # name, table, when, condition, arguments
    ("tell_leaf_created", "sourceleaf", "INSERT", "true", f"'leaf.created', {LEAF}"),
    (
        "tell_leaf_superseded",
        "sourceleaf",
        "UPDATE OF status",
        "NEW.status = 'superseded' AND OLD.status <> 'superseded'",
        f"'leaf.superseded', {LEAF}, 'superseded_by', 'superseded_by_id'",
    ),
    (
        "tell_leaf_erased",
        "sourceleaf",
        "UPDATE OF status",
        "NEW.status = 'erased' AND OLD.status <> 'erased'",
        f"'leaf.erased', {LEAF}",
    ),
    (
        "tell_job_parked",
        "job",
        "UPDATE OF state",
        "NEW.state = 'parked' AND OLD.state <> 'parked' AND NEW.topic <> 'webhook.deliver'",
        "'job.parked', 'job_id', 'id', 'topic', 'topic'",
    ),
]


def trigger_sql(name: str, table: str, when: str, condition: str, arguments: str) -> tuple[str, str]:
    return (
        f"CREATE TRIGGER {name} AFTER {when} ON {T}{table} FOR EACH ROW"
        f" WHEN ({NOT_LOADED} AND {condition})"
        f" EXECUTE FUNCTION holamem_tell_webhooks({arguments});",
        f"DROP TRIGGER {name} ON {T}{table};",
    )


class Migration(migrations.Migration):

    dependencies = [("workspaces", "0011_idempotent_writes")]

    operations = [
        migrations.AlterField(
            model_name='job',
            name='topic',
            field=models.CharField(choices=[('event.received', 'Event Received'), ('tree.dirty', 'Tree Dirty'), ('tree.reindex', 'Tree Reindex'), ('node.created', 'Node Created'), ('node.indexed', 'Node Indexed'), ('node.retired', 'Node Retired'), ('entity.changed', 'Entity Changed'), ('entity.names', 'Entity Names'), ('entity.merge', 'Entity Merge'), ('connector.sync', 'Connector Sync'), ('erase', 'Erase'), ('webhook.deliver', 'Webhook Deliver')], max_length=20),
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.UUIDField(default=holamem.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('scope_id', models.UUIDField()),
                ('url', models.CharField(blank=True, max_length=2000)),
                ('events', models.JSONField(blank=True, default=list)),
                ('salt', models.CharField(max_length=64)),
                ('enabled', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='webhooks', to='workspaces.workspace')),
            ],
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.UUIDField(default=holamem.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('scope_id', models.UUIDField()),
                ('event', models.CharField(max_length=30)),
                ('data', models.JSONField(default=dict)),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='pending', max_length=9)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('next_try_at', models.DateTimeField()),
                ('answer_status', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('error', models.CharField(blank=True, max_length=60)),
                ('created_at', models.DateTimeField()),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('webhook', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='workspaces.webhook')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='webhook_deliveries', to='workspaces.workspace')),
            ],
        ),
        migrations.AddIndex(
            model_name='webhook',
            index=models.Index(condition=models.Q(('enabled', True)), fields=['workspace'], name='webhook_enabled'),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.UniqueConstraint(fields=('workspace', 'id'), name='webhook_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.CheckConstraint(condition=models.Q(('deleted_at', None), ('enabled', False), _connector='OR'), name='webhook_deleted_is_off'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['next_try_at'], name='webhook_due'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(fields=['webhook', '-id'], name='webhook_log'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('delivered_at__isnull', False), ('state', 'delivered')), models.Q(models.Q(('state', 'delivered'), _negated=True), ('delivered_at', None)), _connector='OR'), name='webhook_delivered_at'),
        ),
        migrations.RunSQL(
            f"ALTER TABLE {T}webhookdelivery ADD CONSTRAINT webhookdelivery_webhook_in_workspace"
            f" FOREIGN KEY (workspace_id, webhook_id) REFERENCES {T}webhook (workspace_id, id)"
            " DEFERRABLE INITIALLY DEFERRED",
            f"ALTER TABLE {T}webhookdelivery DROP CONSTRAINT webhookdelivery_webhook_in_workspace",
        ),
        *[migrations.RunSQL(*policy_sql(table)) for table in ("webhook", "webhookdelivery")],
        migrations.RunSQL(TELL, TELL_REVERSE),
        *[migrations.RunSQL(*trigger_sql(*trigger)) for trigger in TRIGGERS],
    ]
