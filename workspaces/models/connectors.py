"""Connections to outside systems: how far each was read, and what it was seen to hold."""

from django.db import models
from django.db.models import Q

from holamem.ids import new_id
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace


class Connector(models.Model):
    class Status(models.TextChoices):
        IDLE = "idle"
        QUEUED = "queued"
        RUNNING = "running"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="connectors")
    scope_id = models.UUIDField()
    provider = models.CharField(max_length=60)
    account = models.CharField(max_length=200)
    kind = models.CharField(max_length=40)
    settings = models.JSONField(default=dict, blank=True)
    # What an unfinished pass hands on to the next; empty after one that came to its end.
    cursor = models.JSONField(default=dict, blank=True)
    progress = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=7, choices=Status, default=Status.IDLE)
    error = models.TextField(blank=True)
    enabled = models.BooleanField(default=True)
    # Null: only when somebody asks for it.
    interval_minutes = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_started_at = models.DateTimeField(null=True, blank=True)
    last_finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="connector_in_workspace"),
            models.UniqueConstraint(
                fields=["workspace", "provider", "account"], name="connector_account"
            ),
            models.CheckConstraint(
                name="connector_interval",
                condition=Q(interval_minutes=None) | Q(interval_minutes__gte=1),
            ),
        ]
        indexes = [
            # What the sweep looks at: all that has an interval, in every workspace.
            models.Index(
                fields=["last_finished_at"],
                condition=Q(enabled=True, interval_minutes__isnull=False),
                name="connector_by_interval",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider}:{self.account}"


class ConnectorObject(models.Model):
    """An object as a connector last saw it; one that went away keeps its row."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="connector_objects"
    )
    scope_id = models.UUIDField()
    connector = models.ForeignKey(
        Connector, on_delete=models.PROTECT, related_name="objects_seen", db_constraint=False
    )
    external_id = models.CharField(max_length=300)
    # The connector's own mark of a state of the object; the same mark means unchanged.
    version = models.CharField(max_length=200, blank=True)
    is_deleted = models.BooleanField(default=False)
    event = models.ForeignKey(
        Event, on_delete=models.PROTECT, related_name="connector_objects", db_constraint=False
    )
    # When the latest revision or deletion was so; a later one is never dated before it.
    stated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["connector", "external_id"], name="connector_object_once"
            ),
        ]

    def __str__(self) -> str:
        return self.external_id
