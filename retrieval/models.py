"""The gap ledger and the retrieval log: all that the read side writes."""

from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf


class Gap(models.Model):
    class Kind(models.TextChoices):
        MISSING = "missing"
        STALE = "stale"
        CONFLICTING = "conflicting"
        LOW_CONFIDENCE = "low_confidence"
        OUTSIDE_TIME_RANGE = "outside_time_range"

    class Status(models.TextChoices):
        OPEN = "open"
        ANSWERED = "answered"
        DISMISSED = "dismissed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="gaps")
    scope_id = models.UUIDField()
    question = models.TextField()
    question_key = models.CharField(max_length=64)
    kind = models.CharField(max_length=18, choices=Kind)
    reason = models.TextField(blank=True)
    suggested_source = models.JSONField(null=True, blank=True)
    times_asked = models.PositiveIntegerField(default=1)
    first_asked_at = models.DateTimeField()
    last_asked_at = models.DateTimeField()
    status = models.CharField(max_length=9, choices=Status, default=Status.OPEN)
    answered_by = models.ForeignKey(
        SourceLeaf,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="answered_gaps",
        db_constraint=False,
    )
    closed_at = models.DateTimeField(null=True, blank=True)
    embedding = HalfVectorField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="gap_in_workspace"),
            models.UniqueConstraint(
                fields=["workspace", "scope_id", "question_key"],
                condition=Q(status="open"),
                name="gap_open_once",
            ),
        ]
        indexes = [
            # The ledger, most wanted first.
            models.Index(fields=["workspace", "status", "-times_asked", "-id"], name="gap_wanted"),
        ]

    def __str__(self) -> str:
        return self.question[:80]


class RetrievalLog(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="retrievals")
    scope_id = models.UUIDField()
    query = models.TextField()
    request = models.JSONField(default=dict)
    intent = models.CharField(max_length=20)
    coverage_level = models.CharField(max_length=6)
    coverage_score = models.FloatField()
    node_ids = models.JSONField(default=list)
    gap_ids = models.JSONField(default=list)
    timings_ms = models.JSONField(default=dict)
    degraded = models.JSONField(default=list)
    feedback = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="retrieval_in_workspace"),
        ]
        indexes = [
            # Recent questions and coverage over time.
            models.Index(fields=["workspace", "-created_at"], name="retrieval_recent"),
        ]

    def __str__(self) -> str:
        return self.query[:80]
