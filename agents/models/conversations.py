"""Who is talked to, and what was said."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace

DEFAULT_AGENT = "default"


class Agent(models.Model):
    """What a session talks to. A run keeps a copy: changes here reach later runs only."""

    class Mode(models.TextChoices):
        """What the tools of a run may do: a tool is visible when its capabilities are covered."""

        OBSERVE = "observe"  # read, memory
        ASSIST = "assist"  # read, write, memory; what needs approval waits for it
        AUTONOMOUS = "autonomous"  # read, write, memory; nothing waits

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="agents")
    slug = models.SlugField(max_length=63)
    name = models.CharField(max_length=200)
    system_prompt = models.TextField(blank=True)
    # Empty: the chat model of the installation.
    model_name = models.CharField(max_length=200, blank=True)
    tools = models.JSONField(default=list, blank=True)
    mode = models.CharField(max_length=10, choices=Mode, default=Mode.ASSIST)
    context_tokens = models.PositiveIntegerField(default=24_000)
    output_tokens = models.PositiveIntegerField(default=2_000)
    tool_calls = models.PositiveIntegerField(default=20)
    # US dollars a run may cost; null is no limit of the agent's own.
    cost = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    recall = models.BooleanField(default=True)
    feeds_memory = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="agent_in_workspace"),
            models.UniqueConstraint(fields=["workspace", "slug"], name="agent_slug_in_workspace"),
        ]

    def __str__(self) -> str:
        return self.slug


class Session(models.Model):
    """One conversation; its state is never part of the durable memory.

    The frozen indexes are the prefix of every model request: they are taken at the start and
    after a compaction, and stay byte for byte in between.
    """

    class Status(models.TextChoices):
        ACTIVE = "active"
        ARCHIVED = "archived"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="sessions")
    # The end user's, or the workspace's for a session of nobody.
    scope_id = models.UUIDField()
    agent = models.ForeignKey(
        Agent, on_delete=models.PROTECT, related_name="sessions", db_constraint=False
    )
    title = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=8, choices=Status, default=Status.ACTIVE)
    active_run_id = models.UUIDField(null=True, blank=True)
    last_event_seq = models.PositiveBigIntegerField(default=0)
    # Messages up to this event are covered by the newest checkpoint; 0 without one.
    compaction_seq = models.PositiveBigIntegerField(default=0)
    # Messages up to this event were distilled, or put into the history by a failure.
    distilled_seq = models.PositiveBigIntegerField(default=0)
    frozen_user_index = models.TextField(blank=True)
    frozen_workspace_index = models.TextField(blank=True)
    # Of both, as they stand in the prefix.
    frozen_index_sha256 = models.CharField(max_length=64, blank=True)
    frozen_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="session_in_workspace"),
            models.CheckConstraint(
                name="session_archived_is_idle",
                condition=Q(status="active") | Q(active_run_id=None),
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "-updated_at", "-id"], name="session_recent"),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)


class Message(models.Model):
    """Never changed and never removed: a deleted one is hidden, with `content` emptied by erasure
    only.
    """

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"
        TOOL = "tool"
        SYSTEM = "system"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="messages", db_index=False
    )
    scope_id = models.UUIDField()
    session = models.ForeignKey(
        Session,
        on_delete=models.PROTECT,
        related_name="messages",
        db_constraint=False,
        db_index=False,
    )
    run_id = models.UUIDField(null=True, blank=True)
    turn_id = models.UUIDField(null=True, blank=True)
    role = models.CharField(max_length=9, choices=Role)
    content = models.TextField(blank=True)
    attachments = models.JSONField(default=list, blank=True)
    # Of an assistant: [{"id", "name", "arguments"}] as the model asked for them.
    tool_calls = models.JSONField(default=list, blank=True)
    # Of a tool: the id of the call that it answers.
    tool_call_id = models.CharField(max_length=200, blank=True)
    # Of an assistant that was cut short: by a cancel, a lost worker or a limit.
    is_partial = models.BooleanField(default=False)
    # Of an assistant: the frozen indexes that stood in its request.
    prefix_sha256 = models.CharField(max_length=64, blank=True)
    event_seq = models.PositiveBigIntegerField()
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="message_in_workspace"),
        ]
        indexes = [
            # A session's conversation in order, and what is newer than a checkpoint.
            models.Index(fields=["session", "event_seq", "id"], name="message_in_order"),
            models.Index(fields=["workspace", "scope_id", "-id"], name="message_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.id}"


class MessageEntry(models.Model):
    """The search index of one message: its lexemes, and the lexeme of its scope beside them."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="message_entries", db_index=False
    )
    scope_id = models.UUIDField()
    message_id = models.UUIDField()
    session_id = models.UUIDField()
    lexemes = SearchVectorField()

    class Meta:
        verbose_name_plural = "message entries"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "message_id"], name="message_entry_once"),
        ]
        indexes = [
            GinIndex(fields=["lexemes"], name="message_entry_lexemes"),
            models.Index(fields=["workspace", "scope_id"], name="message_entry_scope"),
        ]

    def __str__(self) -> str:
        return str(self.message_id)
