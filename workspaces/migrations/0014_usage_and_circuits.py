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
        ('workspaces', '0013_invitations'),
    ]

    operations = [
        migrations.CreateModel(
            name='Circuit',
            fields=[
                ('id', models.UUIDField(default=holamem.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('provider', models.CharField(max_length=100)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('calls', models.PositiveBigIntegerField(default=0)),
                ('opened_at', models.DateTimeField(blank=True, null=True)),
                ('next_probe_at', models.DateTimeField(blank=True, null=True)),
                ('probe_token', models.UUIDField(blank=True, null=True)),
                ('probe_until', models.DateTimeField(blank=True, null=True)),
                ('reason', models.CharField(blank=True, max_length=60)),
                ('last_failure_at', models.DateTimeField(blank=True, null=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='circuits', to='workspaces.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'provider'), name='circuit_once'), models.CheckConstraint(condition=models.Q(models.Q(('next_probe_at', None), ('opened_at', None), ('probe_token', None), ('probe_until', None)), models.Q(('next_probe_at__isnull', False), ('opened_at__isnull', False)), _connector='OR'), name='circuit_open')],
            },
        ),
        migrations.CreateModel(
            name='ModelCall',
            fields=[
                ('id', models.UUIDField(default=holamem.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('scope_id', models.UUIDField()),
                ('purpose', models.CharField(max_length=40)),
                ('provider', models.CharField(max_length=100)),
                ('model', models.CharField(max_length=200)),
                ('input_tokens', models.PositiveIntegerField()),
                ('output_tokens', models.PositiveIntegerField()),
                ('estimated', models.BooleanField()),
                ('cost', models.DecimalField(blank=True, decimal_places=6, max_digits=16, null=True)),
                ('duration_ms', models.PositiveIntegerField()),
                ('outcome', models.CharField(choices=[('succeeded', 'Succeeded'), ('unusable', 'Unusable'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], max_length=9)),
                ('error', models.CharField(blank=True, max_length=60)),
                ('circuit_seq', models.PositiveBigIntegerField()),
                ('run_id', models.UUIDField(blank=True, null=True)),
                ('session_id', models.UUIDField(blank=True, null=True)),
                ('at', models.DateTimeField()),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='model_calls', to='workspaces.workspace')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('run_id__isnull', False)), fields=['workspace', 'run_id'], name='model_call_run'), models.Index(condition=models.Q(('session_id__isnull', False)), fields=['workspace', 'session_id'], name='model_call_session'), models.Index(fields=['at'], name='model_call_at')],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'provider', 'circuit_seq'), name='model_call_seq')],
            },
        ),
        migrations.CreateModel(
            name='UsageDay',
            fields=[
                ('id', models.UUIDField(default=holamem.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('purpose', models.CharField(max_length=40)),
                ('provider', models.CharField(max_length=100)),
                ('model', models.CharField(max_length=200)),
                ('calls', models.PositiveIntegerField()),
                ('without_answer', models.PositiveIntegerField()),
                ('input_tokens', models.PositiveBigIntegerField()),
                ('output_tokens', models.PositiveBigIntegerField()),
                ('cost', models.DecimalField(decimal_places=6, max_digits=18)),
                ('without_price', models.PositiveIntegerField()),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='usage_days', to='workspaces.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'day', 'purpose', 'provider', 'model'), name='usage_day_once')],
            },
        ),
        migrations.RunSQL(*policy_sql("modelcall", IN_SCOPE)),
        *[migrations.RunSQL(*policy_sql(table, IN_WORKSPACE)) for table in ("usageday", "circuit")],
    ]
