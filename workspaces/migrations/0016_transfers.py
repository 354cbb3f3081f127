import django.db.models.deletion
import holamem.ids
from django.db import migrations, models


T = "workspaces_"
# In sub-selects, so that each is computed once a statement and not once a row.
SCOPES = "current_setting('holamem.scope_ids', true)"
IN_WORKSPACE = (
    "workspace_id = (SELECT nullif(current_setting('holamem.workspace_id', true), '')::uuid)"
)
IN_SCOPE = (
    f"{IN_WORKSPACE} AND ((SELECT {SCOPES} = '*') OR scope_id = ANY"
    f" ((SELECT string_to_array(nullif(nullif({SCOPES}, ''), '*'), ',')::uuid[])::uuid[]))"
)


def policy_sql(table: str, rows: str) -> tuple[str, str]:
    """As for every table: `holamem_app` sees the workspace, and the scopes of its step."""
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


class Migration(migrations.Migration):

    dependencies = [
        ('workspaces', '0015_distill_topic'),
    ]

    operations = [
        migrations.AlterField(
            model_name='job',
            name='topic',
            field=models.CharField(choices=[('event.received', 'Event Received'), ('tree.dirty', 'Tree Dirty'), ('tree.reindex', 'Tree Reindex'), ('node.created', 'Node Created'), ('node.indexed', 'Node Indexed'), ('node.retired', 'Node Retired'), ('entity.changed', 'Entity Changed'), ('entity.names', 'Entity Names'), ('entity.merge', 'Entity Merge'), ('connector.sync', 'Connector Sync'), ('erase', 'Erase'), ('webhook.deliver', 'Webhook Deliver'), ('workspace.export', 'Workspace Export'), ('workspace.import', 'Workspace Import'), ('session.distill', 'Session Distill')], max_length=20),
        ),
        migrations.CreateModel(
            name='Transfer',
            fields=[
                ('id', models.UUIDField(default=holamem.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('scope_id', models.UUIDField()),
                ('kind', models.CharField(choices=[('export', 'Export'), ('import', 'Import')], max_length=6)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='queued', max_length=7)),
                ('archive_path', models.CharField(blank=True, max_length=600)),
                ('archive_bytes', models.PositiveBigIntegerField(default=0)),
                ('archive_sha256', models.CharField(blank=True, max_length=64)),
                ('progress', models.JSONField(blank=True, default=dict)),
                ('counts', models.JSONField(blank=True, default=dict)),
                ('error', models.TextField(blank=True)),
                ('requested_by', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='transfers', to='workspaces.workspace')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('archive_path', ''), _negated=True), fields=['created_at'], name='transfer_kept')],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'id'), name='transfer_in_workspace'), models.UniqueConstraint(condition=models.Q(('state__in', ('queued', 'running'))), fields=('workspace', 'kind'), name='transfer_one_at_a_time')],
            },
        ),
        migrations.RunSQL(*policy_sql("transfer", IN_SCOPE)),
    ]
