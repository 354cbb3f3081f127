"""Addresses outside that are told what happens in a workspace, and what they were told.

Triggers in the database write the deliveries, in the transaction of the change itself.
"""

from django.db import models
from django.db.models import Q

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace


class Webhook(models.Model):
    class EventType(models.TextChoices):
        LEAF_CREATED = "leaf.created"
        LEAF_SUPERSEDED = "leaf.superseded"
        LEAF_ERASED = "leaf.erased"
        GAP_OPENED = "gap.opened"
        GAP_CLOSED = "gap.closed"
        JOB_PARKED = "job.parked"
        RUN_COMPLETED = "run.completed"
        RUN_FAILED = "run.failed"
        RUN_CANCELLED = "run.cancelled"
        APPROVAL_REQUIRED = "approval.required"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="webhooks")
    scope_id = models.UUIDField()
    url = models.CharField(max_length=2000, blank=True)
    # Empty: of every type.
    events = models.JSONField(default=list, blank=True)
    # The secret is derived from it and from the installation's key: no row holds a secret.
    salt = models.CharField(max_length=64)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="webhook_in_workspace"),
            models.CheckConstraint(
                name="webhook_deleted_is_off", condition=Q(deleted_at=None) | Q(enabled=False)
            ),
        ]
        indexes = [
            # What each trigger asks first.
            models.Index(fields=["workspace"], condition=Q(enabled=True), name="webhook_enabled"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class WebhookDelivery(models.Model):
    """`data` holds ids and words of ours, never memory: what was sent cannot be erased."""

    class State(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="webhook_deliveries"
    )
    scope_id = models.UUIDField()
    webhook = models.ForeignKey(
        Webhook, on_delete=models.PROTECT, related_name="deliveries", db_constraint=False
    )
    event = models.CharField(max_length=30)
    data = models.JSONField(default=dict)
    state = models.CharField(max_length=9, choices=State, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField()
    # What the receiver answered last; null when it never did.
    answer_status = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=60, blank=True)
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="webhook_delivered_at",
                condition=Q(state="delivered", delivered_at__isnull=False)
                | (~Q(state="delivered") & Q(delivered_at=None)),
            ),
        ]
        indexes = [
            # What is due, in every workspace, and then of one address.
            models.Index(fields=["next_try_at"], condition=Q(state="pending"), name="webhook_due"),
            models.Index(fields=["webhook", "-id"], name="webhook_log"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.id}"
