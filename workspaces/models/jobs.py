"""One ledger of work: a row is written with the change, a worker claims it by a lease."""

from django.db import models
from django.db.models import Q

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace

MAX_ATTEMPTS = 3


class Job(models.Model):
    class Topic(models.TextChoices):
        EVENT_RECEIVED = "event.received"
        TREE_DIRTY = "tree.dirty"
        TREE_REINDEX = "tree.reindex"
        NODE_CREATED = "node.created"
        NODE_INDEXED = "node.indexed"
        NODE_RETIRED = "node.retired"
        ENTITY_CHANGED = "entity.changed"
        ENTITY_NAMES = "entity.names"
        ENTITY_MERGE = "entity.merge"
        CONNECTOR_SYNC = "connector.sync"
        ERASE = "erase"
        WEBHOOK_DELIVER = "webhook.deliver"
        WORKSPACE_EXPORT = "workspace.export"
        WORKSPACE_IMPORT = "workspace.import"
        SESSION_DISTILL = "session.distill"

    class State(models.TextChoices):
        READY = "ready"
        RUNNING = "running"
        DONE = "done"
        PARKED = "parked"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="jobs")
    scope_id = models.UUIDField()
    topic = models.CharField(max_length=20, choices=Topic)
    target_id = models.UUIDField()
    payload = models.JSONField(default=dict, blank=True)
    priority = models.SmallIntegerField(default=100)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField()
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    state = models.CharField(max_length=9, choices=State, default=State.READY)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="job_in_workspace"),
            # One ready and one running job per target, so that a change during a run is not lost.
            models.UniqueConstraint(
                fields=["topic", "target_id"], condition=Q(state="ready"), name="job_one_ready"
            ),
            models.UniqueConstraint(
                fields=["topic", "target_id"], condition=Q(state="running"), name="job_one_running"
            ),
            models.CheckConstraint(
                name="job_attempts", condition=Q(attempts__gte=0, attempts__lte=MAX_ATTEMPTS)
            ),
        ]
        indexes = [
            # The claim: the next workspace that has due work, in order of priority and age.
            models.Index(
                fields=["workspace", "priority", "id"],
                condition=Q(state="ready"),
                include=["next_try_at"],
                name="job_due",
            ),
            # Leases that ran out.
            models.Index(fields=["lease_until"], condition=Q(state="running"), name="job_leases"),
            # Backlog counts and the list of a workspace.
            models.Index(fields=["workspace", "state", "-id"], name="job_state"),
        ]

    def __str__(self) -> str:
        return f"{self.topic} {self.target_id}"
