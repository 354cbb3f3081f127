"""Merges of entities: what became of what, so that a merge can be watched and taken back."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from holamem.ids import new_id
from workspaces.models.entities import Entity
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf


class EntityMerge(models.Model):
    """One merge. `names_added` are the names that it gave to the target, as they are written."""

    class State(models.TextChoices):
        MOVING = "moving"
        DONE = "done"
        UNDOING = "undoing"
        UNDONE = "undone"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="merges")
    scope_id = models.UUIDField()
    source = models.ForeignKey(
        Entity, on_delete=models.PROTECT, related_name="merges", db_constraint=False
    )
    target = models.ForeignKey(
        Entity, on_delete=models.PROTECT, related_name="absorbed", db_constraint=False
    )
    audit_id = models.UUIDField()
    state = models.CharField(max_length=7, choices=State, default=State.MOVING)
    names_added = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    # Active leaves of the source when the merge was asked for.
    leaves_total = models.PositiveIntegerField()
    leaves_done = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="merge_in_workspace"),
            # An entity is part of one other at most, and an undo ends before the next merge.
            models.UniqueConstraint(
                fields=["source"],
                condition=~models.Q(state="undone"),
                name="merge_one_in_force",
            ),
        ]
        indexes = [
            # What was merged into an entity and is still in force.
            models.Index(fields=["target", "state"], name="merge_target"),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} into {self.target_id}"


class MergedLeaf(models.Model):
    """What a merge did to one leaf.

    moved: `became` is the new leaf in the target's tree; linked: `became` held the same text
    there already; mention: the leaf, of any tree, spoke of the source as well.
    """

    class Kind(models.TextChoices):
        MOVED = "moved"
        LINKED = "linked"
        MENTION = "mention"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="merged_leaves")
    scope_id = models.UUIDField()
    merge = models.ForeignKey(
        EntityMerge, on_delete=models.PROTECT, related_name="entries", db_constraint=False
    )
    leaf = models.ForeignKey(
        SourceLeaf, on_delete=models.PROTECT, related_name="merge_entries", db_constraint=False
    )
    became = models.ForeignKey(
        SourceLeaf,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="merge_results",
        db_constraint=False,
    )
    kind = models.CharField(max_length=7, choices=Kind)
    is_undone = models.BooleanField(default=False)

    class Meta:
        verbose_name_plural = "merged leaves"
        constraints = [
            models.UniqueConstraint(fields=["merge", "leaf", "kind"], name="merged_leaf_once"),
        ]
        indexes = [
            # What an undo has still to take back, in batches.
            models.Index(
                fields=["merge", "kind", "id"],
                condition=models.Q(is_undone=False),
                name="merged_leaf_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.leaf_id} {self.kind}"
