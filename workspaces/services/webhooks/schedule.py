"""Jobs for what is due: the deliveries themselves were written with the change they tell of."""

from datetime import timedelta

from django.db.models.functions import Now

from holamem.clock import now
from holamem.database.scope import system_scope, workspace_scope
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.webhooks import Webhook, WebhookDelivery
from workspaces.services.jobs import add_job

PRIORITY = 150  # behind all work on memory
BATCH = 100
KEPT_DAYS = 30  # of what was delivered, or failed


def queue_due_deliveries() -> int:
    """A job for each webhook that has something due; returns their number."""
    due = _due()
    for webhook in due:
        with workspace_scope(webhook.workspace, [webhook.scope_id]):
            queue_delivery(webhook.workspace, webhook=webhook)
    return len(due)


def queue_delivery(workspace: Workspace, *, webhook: Webhook) -> None:
    """Inside the caller's step; one job that waits already is enough."""
    add_job(
        workspace,
        topic=Job.Topic.WEBHOOK_DELIVER,
        target_id=webhook.id,
        scope_id=webhook.scope_id,
        priority=PRIORITY,
    )


def remove_old_deliveries() -> None:
    """What is pending is kept: its own attempts end it."""
    with system_scope():
        rows = WebhookDelivery.objects.filter(created_at__lt=now() - timedelta(days=KEPT_DAYS))
        rows.exclude(state=WebhookDelivery.State.PENDING).delete()


def _due() -> list[Webhook]:
    with system_scope():
        waiting = WebhookDelivery.objects.filter(
            state=WebhookDelivery.State.PENDING, next_try_at__lte=Now()
        )
        rows = Webhook.objects.select_related("workspace__tenant").filter(
            id__in=waiting.values("webhook_id"),
            enabled=True,
            workspace__archived_at=None,
            workspace__tenant__suspended_at=None,
        )
        return list(rows.order_by("id")[:BATCH])
