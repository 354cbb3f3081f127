"""The memory tree: trees, source leaves at the bottom, sealed summary nodes above them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from holamem.ids import new_id
from workspaces.models.entities import Entity
from workspaces.models.log import Category, Chunk, Event
from workspaces.models.tenancy import Workspace


class Tree(models.Model):
    class Status(models.TextChoices):
        ACTIVE = "active"
        EMPTY = "empty"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="trees")
    scope_id = models.UUIDField()
    category = models.CharField(max_length=11, choices=Category)
    key = models.CharField(max_length=300)
    title = models.CharField(max_length=200)
    entity = models.ForeignKey(
        Entity,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="trees",
        db_constraint=False,
    )
    provider = models.CharField(max_length=60, blank=True)
    account = models.CharField(max_length=200, blank=True)
    root = models.ForeignKey(
        "workspaces.SummaryNode",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
    )
    height = models.PositiveSmallIntegerField(default=0)
    leaf_count = models.PositiveIntegerField(default=0)
    status = models.CharField(max_length=6, choices=Status, default=Status.ACTIVE)
    # sha256 of the state that the tree's sidecar file holds; empty before the first, and a mark
    # that begins with ~ when something changed since.
    mirrored_state = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="tree_in_workspace"),
            models.UniqueConstraint(
                fields=["workspace", "scope_id", "category", "id"], name="tree_in_category"
            ),
            models.UniqueConstraint(
                fields=["workspace", "scope_id", "category", "key"], name="tree_key"
            ),
            models.CheckConstraint(
                name="tree_owner",
                condition=Q(category="interaction", entity__isnull=False, provider="", account="")
                | (
                    Q(category="integration", entity__isnull=True)
                    & ~Q(provider="")
                    & ~Q(account="")
                ),
            ),
        ]

    def __str__(self) -> str:
        return self.key


class SummaryNode(models.Model):
    class Status(models.TextChoices):
        SEALED = "sealed"
        STALE = "stale"
        QUARANTINED = "quarantined"
        RETIRED = "retired"

    class ChildKind(models.TextChoices):
        LEAF = "leaf"
        SUMMARY = "summary"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="summaries")
    scope_id = models.UUIDField()
    category = models.CharField(max_length=11, choices=Category)
    tree = models.ForeignKey(
        Tree, on_delete=models.PROTECT, related_name="summaries", db_constraint=False
    )
    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="child_summaries",
        db_constraint=False,
    )
    replaces = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="replacements",
        db_constraint=False,
    )
    height = models.PositiveSmallIntegerField()
    level = models.PositiveSmallIntegerField()
    is_root = models.BooleanField(default=False)
    provisional = models.BooleanField(default=False)
    status = models.CharField(max_length=11, choices=Status, default=Status.SEALED)
    # Set with a quarantine and kept: its text still speaks of what was forgotten, and stays unread.
    withheld = models.BooleanField(default=False)
    title = models.CharField(max_length=200)
    summary = models.TextField()
    body_path = models.CharField(max_length=600)
    body_sha256 = models.CharField(max_length=64)
    body_bytes = models.PositiveIntegerField()
    child_kind = models.CharField(max_length=7, choices=ChildKind)
    child_ids = ArrayField(models.UUIDField())
    child_set_sha256 = models.CharField(max_length=64)
    leaf_count = models.PositiveIntegerField()
    observed_at = models.DateTimeField()
    time_range_start = models.DateTimeField()
    time_range_end = models.DateTimeField()
    labels = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    language = models.CharField(max_length=2, default="en")
    trust = models.CharField(max_length=10, default="user")
    model = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)
    sealed_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="summary_in_workspace"),
            models.UniqueConstraint(fields=["body_path"], name="summary_body_path"),
            models.UniqueConstraint(
                fields=["tree"],
                condition=Q(is_root=True, status__in=["sealed", "stale", "quarantined"]),
                name="summary_one_root",
            ),
            models.CheckConstraint(
                name="summary_time_range",
                condition=Q(time_range_start__lte=models.F("time_range_end")),
            ),
            models.CheckConstraint(name="summary_height", condition=Q(height__gte=1, level__gte=1)),
            models.CheckConstraint(
                name="summary_withheld", condition=~Q(status="quarantined") | Q(withheld=True)
            ),
        ]
        indexes = [
            # Top nodes, stale nodes and children of one tree.
            models.Index(fields=["workspace", "tree", "status", "height"], name="summary_of_tree"),
            models.Index(fields=["workspace", "parent"], name="summary_parent"),
            # Full nodes that nothing stands above: read after each memory, few among many.
            models.Index(
                fields=["workspace", "tree"],
                condition=Q(status="sealed", parent__isnull=True),
                name="summary_tops",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class SourceLeaf(models.Model):
    class Status(models.TextChoices):
        ACTIVE = "active"
        SUPERSEDED = "superseded"
        INACTIVE = "inactive"
        ERASING = "erasing"
        ERASED = "erased"

    class VerificationPolicy(models.TextChoices):
        NONE = "none"
        VERIFY_BEFORE_USE = "verify_before_use"
        VERIFY_IF_STALE = "verify_if_stale"

    class StalenessPolicy(models.TextChoices):
        STABLE = "stable"
        DECAYS = "decays"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="leaves")
    scope_id = models.UUIDField()
    category = models.CharField(max_length=11, choices=Category)
    tree = models.ForeignKey(
        Tree, on_delete=models.PROTECT, related_name="leaves", db_constraint=False
    )
    parent = models.ForeignKey(
        SummaryNode,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="child_leaves",
        db_constraint=False,
    )
    chunk = models.ForeignKey(
        Chunk,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="created_leaves",
        db_constraint=False,
    )
    entity = models.ForeignKey(
        Entity,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="leaves",
        db_constraint=False,
    )
    origin_kind = models.CharField(max_length=20, choices=Event.Kind)
    session_ref = models.CharField(max_length=200, blank=True)
    actor = models.CharField(max_length=200, blank=True)
    title = models.CharField(max_length=200)
    summary = models.TextField()
    body_path = models.CharField(max_length=600)
    body_sha256 = models.CharField(max_length=64)
    body_bytes = models.PositiveIntegerField()
    fingerprint = models.CharField(max_length=64)
    subject_key = models.CharField(max_length=200, blank=True)
    observed_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    valid_until = models.DateTimeField(null=True, blank=True)
    confidence = models.FloatField()
    verification_policy = models.CharField(
        max_length=17, choices=VerificationPolicy, default=VerificationPolicy.NONE
    )
    staleness_policy = models.CharField(
        max_length=6, choices=StalenessPolicy, default=StalenessPolicy.STABLE
    )
    stale_after_days = models.PositiveIntegerField(null=True, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    # A person took it out of memory: its text is not read, and no re-import brings it back.
    forgotten_at = models.DateTimeField(null=True, blank=True)
    supersedes_leaf = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="successors",
        db_constraint=False,
    )
    superseded_by = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="predecessors",
        db_constraint=False,
    )
    moved_from_leaf = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="moved_to",
        db_constraint=False,
    )
    labels = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    language = models.CharField(max_length=2, default="en")
    trust = models.CharField(max_length=10, default="user")

    class Meta:
        verbose_name_plural = "source leaves"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="leaf_in_workspace"),
            models.UniqueConstraint(fields=["body_path"], name="leaf_body_path"),
            models.UniqueConstraint(
                fields=["tree", "fingerprint"],
                condition=Q(status="active"),
                name="leaf_fingerprint_active",
            ),
            # A chain of successors never forks.
            models.UniqueConstraint(
                fields=["supersedes_leaf"],
                condition=Q(supersedes_leaf__isnull=False),
                name="leaf_supersedes_once",
            ),
            models.CheckConstraint(
                name="leaf_observed_at",
                condition=Q(observed_at__gte="1970-01-01T00:00:00Z")
                & Q(observed_at__lt="9999-01-01T00:00:00Z"),
            ),
            models.CheckConstraint(
                name="leaf_confidence", condition=Q(confidence__gte=0, confidence__lte=1)
            ),
            models.CheckConstraint(
                name="leaf_forgotten", condition=Q(forgotten_at=None) | ~Q(status="active")
            ),
        ]
        indexes = [
            # The buffer of a tree and its leaves in order of observation.
            models.Index(
                fields=["workspace", "tree", "status", "observed_at"], name="leaf_of_tree"
            ),
            models.Index(fields=["workspace", "parent"], name="leaf_parent"),
            # The oldest of the buffer, without the sealed leaves before them.
            models.Index(
                fields=["workspace", "tree", "observed_at", "id"],
                condition=Q(status="active", parent__isnull=True),
                name="leaf_buffer",
            ),
            # What the sidecar of a tree mirrors, without the many that are active.
            models.Index(
                fields=["workspace", "tree"], condition=~Q(status="active"), name="leaf_past"
            ),
            # A re-import of the same text and time, and history under a subject.
            models.Index(fields=["workspace", "tree", "fingerprint"], name="leaf_fingerprint"),
            models.Index(fields=["workspace", "tree", "subject_key"], name="leaf_subject"),
            # Leaves per day on the overview.
            models.Index(fields=["workspace", "created_at"], name="leaf_created"),
        ]

    def __str__(self) -> str:
        return self.title


# Their text is gone or going: no reader sees them.
GONE_LEAVES = (SourceLeaf.Status.ERASING, SourceLeaf.Status.ERASED)
# What readers see and search finds; a quarantined one still speaks of what was forgotten.
LIVE_SUMMARIES = (SummaryNode.Status.SEALED, SummaryNode.Status.STALE)


def is_withheld(leaf: SourceLeaf) -> bool:
    """Forgotten, being erased or erased: its place is shown, its words are not."""
    return leaf.forgotten_at is not None or leaf.status in GONE_LEAVES


class LeafSource(models.Model):
    """An event whose chunk ended in this leaf, as creator or as duplicate."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="leaf_sources")
    scope_id = models.UUIDField()
    leaf = models.ForeignKey(
        SourceLeaf, on_delete=models.PROTECT, related_name="sources", db_constraint=False
    )
    event = models.ForeignKey(
        Event, on_delete=models.PROTECT, related_name="leaf_sources", db_constraint=False
    )
    is_creator = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["leaf", "event"], name="leaf_source_once"),
        ]

    def __str__(self) -> str:
        return f"{self.leaf_id} from {self.event_id}"


class LeafEntity(models.Model):
    """A secondary entity of a leaf: search metadata, never a second tree."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="leaf_entities")
    scope_id = models.UUIDField()
    leaf = models.ForeignKey(
        SourceLeaf, on_delete=models.PROTECT, related_name="secondary_links", db_constraint=False
    )
    entity = models.ForeignKey(
        Entity, on_delete=models.PROTECT, related_name="secondary_links", db_constraint=False
    )

    class Meta:
        verbose_name_plural = "leaf entities"
        constraints = [
            models.UniqueConstraint(fields=["leaf", "entity"], name="leaf_entity_once"),
        ]

    def __str__(self) -> str:
        return f"{self.leaf_id} mentions {self.entity_id}"


class RetiredBody(models.Model):
    """A body file that no row needs any more; readers may still hold its path until it expires."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="retired_bodies"
    )
    scope_id = models.UUIDField()
    path = models.CharField(max_length=600)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name_plural = "retired bodies"

    def __str__(self) -> str:
        return self.path
