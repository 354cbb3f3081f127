"""What came in: events, and the chunks that are judged."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace


class Category(models.TextChoices):
    INTERACTION = "interaction"
    INTEGRATION = "integration"


class Event(models.Model):
    class Kind(models.TextChoices):
        USER_MESSAGE = "user_message"
        ASSISTANT_TURN = "assistant_turn"
        TOOL_RESULT = "tool_result"
        ACCEPTED_PREFERENCE = "accepted_preference"
        ACCEPTED_IDENTITY = "accepted_identity"
        DISTILLED_STATEMENT = "distilled_statement"
        INTEGRATION_RECORD = "integration_record"
        DOCUMENT_REVISION = "document_revision"
        SYNC_ITEM = "sync_item"

    class Status(models.TextChoices):
        RECEIVED = "received"
        PROCESSING = "processing"
        PROCESSED = "processed"
        FAILED = "failed"
        DEAD = "dead"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="events")
    scope_id = models.UUIDField()
    kind = models.CharField(max_length=20, choices=Kind)
    category = models.CharField(max_length=11, choices=Category, default=Category.INTERACTION)
    source = models.CharField(max_length=200, blank=True)
    external_id = models.CharField(max_length=300, blank=True)
    provider = models.CharField(max_length=60, blank=True)
    account = models.CharField(max_length=200, blank=True)
    session_ref = models.CharField(max_length=200, blank=True)
    agent_ref = models.CharField(max_length=200, blank=True)
    run_ref = models.CharField(max_length=200, blank=True)
    actor = models.CharField(max_length=200, blank=True)
    payload_text = models.TextField()
    text_sha256 = models.CharField(max_length=64)
    masked_kinds = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    succeeded = models.BooleanField(null=True, blank=True)
    # Integration: the object went away at its source; there is no text.
    deleted = models.BooleanField(default=False)
    evidence_event_ids = ArrayField(models.UUIDField(), default=list, blank=True)
    admission_mode = models.CharField(max_length=10, default="auto")
    occurred_at = models.DateTimeField(null=True, blank=True)
    offset_minutes = models.SmallIntegerField(null=True, blank=True)
    # Integration: the latest time at which the source said the same again.
    confirmed_at = models.DateTimeField(null=True, blank=True)
    received_at = models.DateTimeField()
    status = models.CharField(max_length=10, choices=Status, default=Status.RECEIVED)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="event_in_workspace"),
            # One event per named source item, whichever key or route sent it.
            models.UniqueConstraint(
                fields=["workspace", "source", "external_id"],
                condition=models.Q(category="interaction") & ~models.Q(external_id=""),
                name="event_source_item_once",
            ),
            models.CheckConstraint(
                name="event_deleted_object",
                condition=models.Q(deleted=False) | models.Q(category="integration"),
            ),
        ]
        indexes = [
            # The earlier turns of a session, for restatement and context.
            models.Index(fields=["workspace", "session_ref", "id"], name="event_session"),
            # Status counts and the ingest log, newest first.
            models.Index(fields=["workspace", "status", "-id"], name="event_status"),
            # Revisions of one integration object.
            models.Index(
                fields=["workspace", "source", "external_id"],
                condition=models.Q(category="integration"),
                name="event_object",
            ),
            # Texts that retention has still to remove, oldest first.
            models.Index(
                fields=["workspace", "received_at"],
                condition=~models.Q(payload_text=""),
                name="event_with_text",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Chunk(models.Model):
    class Outcome(models.TextChoices):
        PENDING = "pending"
        REJECTED = "rejected"
        CREATED = "created"
        SUPERSEDING = "superseding"
        NOOP_DUPLICATE = "noop_duplicate"

    class Decision(models.TextChoices):
        MATCH_EXISTING = "match_existing"
        CREATE_NEW = "create_new"
        FALLBACK = "fallback"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="chunks")
    scope_id = models.UUIDField()
    event = models.ForeignKey(
        Event, on_delete=models.PROTECT, related_name="chunks", db_constraint=False
    )
    position = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    fingerprint = models.CharField(max_length=64)
    outcome = models.CharField(max_length=15, choices=Outcome, default=Outcome.PENDING)
    decision = models.CharField(max_length=15, choices=Decision, blank=True)
    reason = models.CharField(max_length=60, blank=True)
    admission_confidence = models.FloatField(null=True, blank=True)
    match_confidence = models.FloatField(null=True, blank=True)
    create_confidence = models.FloatField(null=True, blank=True)
    judged_by = models.CharField(max_length=100, blank=True)
    leaf = models.ForeignKey(
        "workspaces.SourceLeaf",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="chunks",
        db_constraint=False,
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="chunk_in_workspace"),
            models.UniqueConstraint(fields=["event", "position"], name="chunk_position"),
        ]
        indexes = [
            # Every chunk with a text that is erased.
            models.Index(fields=["workspace", "fingerprint"], name="chunk_fingerprint"),
        ]

    def __str__(self) -> str:
        return f"{self.event_id}[{self.position}]"


class IdempotencyRecord(models.Model):
    """A write that came with an Idempotency-Key, and its first answer; kept 24 hours.

    Of events the record is committed with the write, and `answer` has their ids. Of every other
    write it is made before: as long as `answer_status` is null, the request with `lease_token`
    does the work until `lease_until`, and `is_done` is committed with the work itself.
    `path` is then a hash of method and address, which may hold a name that has to be erased.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # Null: a write of the tenant, such as a new workspace. The key tells whose it is.
    workspace = models.ForeignKey(
        Workspace,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="idempotency_records",
    )
    scope_id = models.UUIDField(null=True, blank=True)
    api_key_id = models.UUIDField()
    path = models.CharField(max_length=500)
    key = models.CharField(max_length=255)
    body_sha256 = models.CharField(max_length=64)
    answer_status = models.PositiveSmallIntegerField(null=True, blank=True)
    answer = models.JSONField(default=dict, blank=True)
    # The bytes of the answer, as they were sent; empty for an answer without any.
    answer_body = models.TextField(blank=True)
    # The words of the answer were erased: it cannot be given again.
    is_cleaned = models.BooleanField(default=False)
    is_done = models.BooleanField(default=False)
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["api_key_id", "path", "key"], name="idempotency_once"),
            models.CheckConstraint(
                name="idempotency_scope",
                condition=models.Q(workspace=None, scope_id=None)
                | models.Q(workspace__isnull=False, scope_id__isnull=False),
            ),
            models.CheckConstraint(
                name="idempotency_lease",
                condition=models.Q(answer_status__isnull=False)
                | models.Q(lease_token__isnull=False, lease_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.key
