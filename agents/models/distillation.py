"""What was made of a session's tool results: pass by pass, and the nights that asked for them."""

from django.db import models
from django.db.models import Q

from agents.models.conversations import Session
from holamem.ids import new_id
from workspaces.models.tenancy import Workspace


class DistillationNight(models.Model):
    """One a day of the workspace's own calendar, also when nothing was to be done."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="distillation_nights"
    )
    day = models.DateField()
    sessions = models.PositiveIntegerField(default=0)
    # Sessions beyond the limit of a night: the next one takes them.
    left_over = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "day"], name="distillation_night_once"),
        ]

    def __str__(self) -> str:
        return str(self.day)


class Distillation(models.Model):
    """One pass over the messages of a session from `from_seq` (exclusive) to `to_seq`.

    A planned one has moved the cursor and is carried out from its own row, however often that
    takes; a failed one has left the cursor where it was.
    """

    class Trigger(models.TextChoices):
        NIGHTLY = "nightly"
        PASSIVE = "passive"
        MANUAL = "manual"

    class Status(models.TextChoices):
        PLANNED = "planned"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="distillations")
    scope_id = models.UUIDField()
    session = models.ForeignKey(
        Session, on_delete=models.PROTECT, related_name="distillations", db_constraint=False
    )
    night_id = models.UUIDField(null=True, blank=True)
    trigger = models.CharField(max_length=7, choices=Trigger)
    status = models.CharField(max_length=7, choices=Status)
    from_seq = models.PositiveBigIntegerField()
    to_seq = models.PositiveBigIntegerField()
    messages = models.PositiveIntegerField(default=0)
    results = models.PositiveIntegerField(default=0)
    # [{"id", "text", "topic", "replaces", "message_ids", "event_ids"}]
    statements = models.JSONField(default=list, blank=True)
    # [{"text", "reason"}]: what the model said and no result did.
    dropped = models.JSONField(default=list, blank=True)
    # The index line of each topic.
    summaries = models.JSONField(default=dict, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    # The code of what went wrong.
    error = models.CharField(max_length=60, blank=True)
    # Of a failed one: the entry with its raw messages; null when an earlier one has them all.
    history_entry_id = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="distillation_in_workspace"),
            # The same messages are never distilled twice.
            models.UniqueConstraint(
                fields=["session", "from_seq"],
                condition=~Q(status="failed"),
                name="distillation_once",
            ),
            models.CheckConstraint(
                name="distillation_range", condition=Q(to_seq__gt=models.F("from_seq"))
            ),
            models.CheckConstraint(
                name="distillation_ended",
                condition=Q(status="planned", ended_at=None)
                | ~Q(status="planned") & Q(ended_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "-id"], name="distillation_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.status} {self.session_id} {self.from_seq}-{self.to_seq}"
