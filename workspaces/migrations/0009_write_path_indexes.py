"""Indexes for what is read after each memory, however large the tree or the queue."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workspaces', '0008_erasure'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='job',
            name='job_due',
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('state', 'ready')), fields=['workspace', 'priority', 'id'], include=('next_try_at',), name='job_due'),
        ),
        migrations.AddIndex(
            model_name='sourceleaf',
            index=models.Index(condition=models.Q(('parent__isnull', True), ('status', 'active')), fields=['workspace', 'tree', 'observed_at', 'id'], name='leaf_buffer'),
        ),
        migrations.AddIndex(
            model_name='summarynode',
            index=models.Index(condition=models.Q(('parent__isnull', True), ('status', 'sealed')), fields=['workspace', 'tree'], name='summary_tops'),
        ),
    ]
