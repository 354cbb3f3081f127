"""What each call of a chat model took: a row a call, and their sums by day.

Rows hold counts and names of ours, never a prompt or an answer.
"""

from django.db import models

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace


class ModelCall(models.Model):
    class Outcome(models.TextChoices):
        SUCCEEDED = "succeeded"
        UNUSABLE = "unusable"  # answered, but not with what was asked for
        FAILED = "failed"  # the service had no answer
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="model_calls")
    scope_id = models.UUIDField()
    purpose = models.CharField(max_length=40)
    provider = models.CharField(max_length=100)
    model = models.CharField(max_length=200)
    input_tokens = models.PositiveIntegerField()
    output_tokens = models.PositiveIntegerField()
    # The service sent no counts, so they are ours.
    estimated = models.BooleanField()
    # In US dollars; null while no price is set.
    cost = models.DecimalField(max_digits=16, decimal_places=6, null=True, blank=True)
    duration_ms = models.PositiveIntegerField()
    outcome = models.CharField(max_length=9, choices=Outcome)
    error = models.CharField(max_length=60, blank=True)
    # The place among the calls that the circuit of this provider has seen, from 1.
    circuit_seq = models.PositiveBigIntegerField()
    # Of the runtime of agents, which may not be installed.
    run_id = models.UUIDField(null=True, blank=True)
    session_id = models.UUIDField(null=True, blank=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "provider", "circuit_seq"], name="model_call_seq"
            ),
        ]
        indexes = [
            # What one run or session took.
            models.Index(
                fields=["workspace", "run_id"],
                condition=models.Q(run_id__isnull=False),
                name="model_call_run",
            ),
            models.Index(
                fields=["workspace", "session_id"],
                condition=models.Q(session_id__isnull=False),
                name="model_call_session",
            ),
            # Old rows, in every workspace.
            models.Index(fields=["at"], name="model_call_at"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.outcome}"


class UsageDay(models.Model):
    """The sum of a day's calls of one purpose and model; it stays when their rows go."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="usage_days")
    # In UTC.
    day = models.DateField()
    purpose = models.CharField(max_length=40)
    provider = models.CharField(max_length=100)
    model = models.CharField(max_length=200)
    calls = models.PositiveIntegerField()
    # Calls that have no answer that could be used.
    without_answer = models.PositiveIntegerField()
    input_tokens = models.PositiveBigIntegerField()
    output_tokens = models.PositiveBigIntegerField()
    # In US dollars, of the calls that have a price.
    cost = models.DecimalField(max_digits=18, decimal_places=6)
    without_price = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "day", "purpose", "provider", "model"], name="usage_day_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.purpose}"
