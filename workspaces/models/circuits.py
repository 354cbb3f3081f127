"""Whether a workspace may call a model service, decided for all processes at one place."""

from django.db import models
from django.db.models import Q

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace


class Circuit(models.Model):
    """Open while `opened_at` is set. Times are the database's."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="circuits")
    provider = models.CharField(max_length=100)
    # In a row, up to now.
    failures = models.PositiveIntegerField(default=0)
    # Calls that ended; each has the number that it made.
    calls = models.PositiveBigIntegerField(default=0)
    opened_at = models.DateTimeField(null=True, blank=True)
    next_probe_at = models.DateTimeField(null=True, blank=True)
    # The call that tries whether the service is back, and until when nobody else may.
    probe_token = models.UUIDField(null=True, blank=True)
    probe_until = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=60, blank=True)
    last_failure_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "provider"], name="circuit_once"),
            models.CheckConstraint(
                name="circuit_open",
                condition=Q(opened_at=None, next_probe_at=None, probe_token=None, probe_until=None)
                | Q(opened_at__isnull=False, next_probe_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {'open' if self.opened_at else 'closed'}"
