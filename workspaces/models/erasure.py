"""Legal erasures: what was asked for, how far it is, and the tombstones that stay."""

from django.db import models

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace


class Erasure(models.Model):
    """One erasure with its receipt.

    `tombstones` holds ids and hashes only: `leaves` (leaf_id, tree_id, fingerprint, body_sha256),
    `summaries` (summary_id, tree_id, body_sha256) and `events` (ids). `counts` is the receipt.
    """

    class TargetKind(models.TextChoices):
        LEAF = "leaf"
        USER = "user"

    class Status(models.TextChoices):
        REQUESTED = "requested"
        RUNNING = "running"
        COMPLETE = "complete"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="erasures")
    scope_id = models.UUIDField()
    target_kind = models.CharField(
        max_length=4, choices=TargetKind, default=TargetKind.LEAF, editable=False
    )
    target_id = models.UUIDField()
    # In the words of who asked; the receipt shows it, so it must not repeat what goes.
    reason = models.CharField(max_length=500, blank=True)
    requested_by = models.CharField(max_length=200)
    only_this = models.BooleanField(default=False)
    status = models.CharField(max_length=9, choices=Status, default=Status.REQUESTED)
    counts = models.JSONField(default=dict, blank=True)
    tombstones = models.JSONField(default=dict, blank=True)
    requested_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="erasure_in_workspace"),
            models.CheckConstraint(
                name="erasure_complete",
                condition=models.Q(status="complete", completed_at__isnull=False)
                | (~models.Q(status="complete") & models.Q(completed_at=None)),
            ),
        ]
        indexes = [
            # The receipt of a leaf, and the list of a workspace.
            models.Index(fields=["workspace", "target_id"], name="erasure_target"),
            models.Index(fields=["workspace", "-id"], name="erasure_newest"),
            # What is still to be done, for verify.
            models.Index(
                fields=["requested_at"],
                condition=~models.Q(status="complete"),
                name="erasure_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.target_kind} {self.target_id}"

    @property
    def is_whole_scope(self) -> bool:
        return self.target_kind == self.TargetKind.USER


class ErasedText(models.Model):
    """The tombstone of one text: what is stated here again as the same statement stays erased.

    Ids and hashes only. `item_sha256` names the item of its source, or is empty; `leaf_id` is
    the leaf that it ended in, `event_id` the event that stated it, both null where there was none.
    """

    # Made from what the row says, so that the same tombstone is never written twice.
    id = models.UUIDField(primary_key=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="erased_texts")
    scope_id = models.UUIDField()
    erasure = models.ForeignKey(
        Erasure, on_delete=models.PROTECT, related_name="texts", db_constraint=False
    )
    fingerprint = models.CharField(max_length=64)
    leaf_id = models.UUIDField(null=True, blank=True)
    event_id = models.UUIDField(null=True, blank=True)
    item_sha256 = models.CharField(max_length=64, blank=True)
    observed_at = models.DateTimeField()
    erased_at = models.DateTimeField()

    class Meta:
        indexes = [
            # Whether a chunk states again what was erased.
            models.Index(fields=["workspace", "fingerprint"], name="erased_text_fingerprint"),
            # The erasure that took a leaf.
            models.Index(fields=["workspace", "leaf_id"], name="erased_text_leaf"),
        ]

    def __str__(self) -> str:
        return f"{self.fingerprint[:12]} of {self.leaf_id}"
