"""The hot layer: an index and topics that sessions carry, and the trace of its operations."""

from django.db import models
from django.db.models import Q

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace

INDEX_NAME = "index"


class TextMemory(models.Model):
    """`scope_id` is the workspace's for its own memory and the end user's for a person's."""

    class Kind(models.TextChoices):
        INDEX = "index"
        TOPIC = "topic"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="text_memories")
    scope_id = models.UUIDField()
    kind = models.CharField(max_length=5, choices=Kind)
    name = models.CharField(max_length=100)
    content = models.TextField(blank=True)
    byte_len = models.PositiveIntegerField()
    # Of an index beyond 200 lines or 25,600 bytes; stored whole until a compaction shortens it.
    over_budget = models.BooleanField(default=False)
    version = models.PositiveIntegerField(default=1)
    # A deleted one keeps its row, so that its versions go on counting when it comes back.
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "text memories"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="text_memory_in_workspace"),
            models.UniqueConstraint(
                fields=["workspace", "scope_id", "kind", "name"], name="text_memory_once"
            ),
            models.CheckConstraint(
                name="text_memory_index_name", condition=~Q(kind="index") | Q(name=INDEX_NAME)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class TextMemoryVersion(models.Model):
    """What an index or topic said at each of its versions; an empty one was its deletion."""

    class Origin(models.TextChoices):
        TOOL = "tool"
        DISTILLATION = "distillation"
        COMPACTION = "compaction"
        IMPORT = "import"
        PERSON = "person"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="text_memory_versions"
    )
    scope_id = models.UUIDField()
    kind = models.CharField(max_length=5, choices=TextMemory.Kind)
    name = models.CharField(max_length=100)
    version = models.PositiveIntegerField()
    content = models.TextField(blank=True)
    is_deletion = models.BooleanField(default=False)
    origin = models.CharField(max_length=12, choices=Origin)
    run_id = models.UUIDField(null=True, blank=True)
    # The call of a tool that wrote it: run again after a crash, it writes nothing.
    tool_call_id = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "scope_id", "kind", "name", "version"],
                name="text_memory_version_once",
            ),
            models.UniqueConstraint(
                fields=["workspace", "tool_call_id", "kind"],
                condition=Q(tool_call_id__isnull=False),
                name="text_memory_version_of_call",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class HistoryEntry(models.Model):
    """Only grows, each entry with the hash of the one before it; never put into a prompt.

    Erasure empties `payload` and keeps `payload_sha256`, so that the chain still verifies.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="history_entries"
    )
    scope_id = models.UUIDField()
    # 1, 2, 3, ... of the workspace.
    position = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=30)
    payload = models.JSONField(default=dict)
    payload_sha256 = models.CharField(max_length=64)
    prev_sha256 = models.CharField(max_length=64)
    sha256 = models.CharField(max_length=64)
    is_erased = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "history entries"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "position"], name="history_position"),
        ]

    def __str__(self) -> str:
        return f"{self.position} {self.kind}"
