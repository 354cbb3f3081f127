"""Whole workspaces on their way out of the installation, and into it."""

from django.db import models
from django.db.models import Q

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace


class Transfer(models.Model):
    """An export, whose archive is kept for a while, or an import of an archive that was sent."""

    class Kind(models.TextChoices):
        EXPORT = "export"
        IMPORT = "import"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="transfers")
    scope_id = models.UUIDField()
    kind = models.CharField(max_length=6, choices=Kind)
    state = models.CharField(max_length=7, choices=State, default=State.QUEUED)
    # In the body store; empty while there is none, and when it was removed.
    archive_path = models.CharField(max_length=600, blank=True)
    archive_bytes = models.PositiveBigIntegerField(default=0)
    archive_sha256 = models.CharField(max_length=64, blank=True)
    # What is being done, how far it is, and of how much: `what`, `done`, `total`.
    progress = models.JSONField(default=dict, blank=True)
    # Rows by table, and files.
    counts = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True)
    requested_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="transfer_in_workspace"),
            models.UniqueConstraint(
                fields=["workspace", "kind"],
                condition=Q(state__in=("queued", "running")),
                name="transfer_one_at_a_time",
            ),
        ]
        indexes = [
            # Archives that are still kept, in every workspace.
            models.Index(
                fields=["created_at"], condition=~Q(archive_path=""), name="transfer_kept"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"
