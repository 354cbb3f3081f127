"""One user sentence as a recoverable execution: its state, its calls, its approvals, its facts."""

from django.db import models
from django.db.models import Q

from agents.models.conversations import Session
from holamem.ids import new_id
from workspaces.models.tenancy import Workspace

ACTIVE_RUN = ("running", "waiting_approval", "cancelling")
ENDED_RUN = ("completed", "failed", "cancelled")


class Run(models.Model):
    """`config` is frozen at its creation: every turn, and a retry, reads this copy only.

    A worker owns a run by its lease; what it writes is written only while the token is still its
    own.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        WAITING_APPROVAL = "waiting_approval"
        CANCELLING = "cancelling"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class InputMode(models.TextChoices):
        """How it met a run that was active: it had it cancelled, or waited for its end."""

        INTERRUPT = "interrupt"
        QUEUE = "queue"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="runs")
    scope_id = models.UUIDField()
    session = models.ForeignKey(
        Session, on_delete=models.PROTECT, related_name="runs", db_constraint=False
    )
    trigger_message_id = models.UUIDField()
    config = models.JSONField(default=dict)
    config_sha256 = models.CharField(max_length=64)
    input_mode = models.CharField(max_length=9, choices=InputMode, default=InputMode.QUEUE)
    # The number of its `run.created` in the session's log: the order of the queue.
    created_seq = models.PositiveBigIntegerField()
    # That of its `run.started`: where its sentence stands in the conversation; null before.
    started_seq = models.PositiveBigIntegerField(null=True, blank=True)
    status = models.CharField(max_length=16, choices=Status, default=Status.QUEUED)
    # Empty until it ended: `completed`, `cancelled`, `output_limit`, `worker_lost`, ...
    stop_reason = models.CharField(max_length=40, blank=True)
    # What a person is told; never a prompt, a key or a service's own text.
    error = models.TextField(blank=True)
    retry_of_id = models.UUIDField(null=True, blank=True)
    current_turn_id = models.UUIDField(null=True, blank=True)
    turns = models.PositiveIntegerField(default=0)
    # The sums of its model calls.
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cancel_requested = models.BooleanField(default=False)
    # The text of the turn that streams; a worker that takes over drops or keeps it as partial.
    streamed_text = models.TextField(blank=True)
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    # The principal that started it: what its tools may do, and who may not decide its approvals.
    started_by = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    # When what it brought was handed on to the workspace's memory, or found to hold nothing for it.
    fed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="run_in_workspace"),
            models.UniqueConstraint(
                fields=["session"], condition=Q(status__in=ACTIVE_RUN), name="run_one_active"
            ),
            models.CheckConstraint(
                name="run_ended",
                condition=Q(status__in=ENDED_RUN, ended_at__isnull=False, lease_token=None)
                & ~Q(stop_reason="")
                | ~Q(status__in=ENDED_RUN) & Q(ended_at=None, stop_reason=""),
            ),
        ]
        indexes = [
            # What a worker may take: by status, and leases that ran out.
            models.Index(
                fields=["status", "lease_until"],
                condition=~Q(status__in=ENDED_RUN),
                name="run_unfinished",
            ),
            models.Index(fields=["session", "-id"], name="run_of_session"),
            # What a crash between the end of a run and its way into memory left behind.
            models.Index(
                fields=["ended_at"],
                condition=Q(status__in=ENDED_RUN, fed_at=None),
                name="run_unfed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.status} {self.id}"


class ToolCall(models.Model):
    class Status(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        DENIED = "denied"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"
        # Its worker died during a call that must not be repeated: a person has to look.
        UNKNOWN_OUTCOME = "unknown_outcome"

    class FailurePolicy(models.TextChoices):
        CONTINUE = "continue"
        STOP = "stop"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="tool_calls")
    scope_id = models.UUIDField()
    run = models.ForeignKey(
        Run, on_delete=models.PROTECT, related_name="tool_call_rows", db_constraint=False
    )
    turn_id = models.UUIDField()
    position = models.PositiveIntegerField()
    # The model's own id of the call.
    call_id = models.CharField(max_length=200)
    name = models.CharField(max_length=100)
    arguments = models.JSONField(default=dict)
    needs_approval = models.BooleanField(default=False)
    failure_policy = models.CharField(
        max_length=8, choices=FailurePolicy, default=FailurePolicy.CONTINUE
    )
    status = models.CharField(max_length=15, choices=Status, default=Status.PENDING)
    # A person's reason for a denial, or the code of a failure.
    reason = models.TextField(blank=True)
    result = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="tool_call_in_workspace"),
            models.UniqueConstraint(
                fields=["run", "turn_id", "position"], name="tool_call_position"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.status}"


class Approval(models.Model):
    """One for all calls of one reply of the model that wait; decided all at once."""

    class Scope(models.TextChoices):
        ONCE = "once"
        RUN = "run"
        SESSION = "session"

    class Status(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        DENIED = "denied"
        EXPIRED = "expired"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="approvals")
    scope_id = models.UUIDField()
    session = models.ForeignKey(
        Session, on_delete=models.PROTECT, related_name="approvals", db_constraint=False
    )
    run = models.ForeignKey(
        Run, on_delete=models.PROTECT, related_name="approvals", db_constraint=False
    )
    turn_id = models.UUIDField()
    # Ids of our rows, in the order of the calls.
    tool_call_ids = models.JSONField(default=list)
    # [{"tool_call_id", "status": "approved" | "denied", "reason"}]; empty while it is pending.
    decisions = models.JSONField(default=list, blank=True)
    # How far an approval reaches.
    scope = models.CharField(max_length=7, choices=Scope, default=Scope.ONCE)
    # Approved when any call of it is; denied when none.
    status = models.CharField(max_length=8, choices=Status, default=Status.PENDING)
    decided_by = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="approval_in_workspace"),
            models.UniqueConstraint(
                fields=["run"], condition=Q(status="pending"), name="approval_one_pending"
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "status", "-id"], name="approval_list"),
            models.Index(
                fields=["expires_at"], condition=Q(status="pending"), name="approval_expiry"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.status} {self.id}"


class ApprovalGrant(models.Model):
    """The same tool with identical arguments needs no second approval within its reach."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="approval_grants"
    )
    scope_id = models.UUIDField()
    session = models.ForeignKey(
        Session, on_delete=models.PROTECT, related_name="approval_grants", db_constraint=False
    )
    # Null: the whole session.
    run_id = models.UUIDField(null=True, blank=True)
    approval = models.ForeignKey(
        Approval, on_delete=models.PROTECT, related_name="grants", db_constraint=False
    )
    tool_name = models.CharField(max_length=100)
    arguments_sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["session", "tool_name", "arguments_sha256"], name="approval_grant_lookup"
            ),
        ]

    def __str__(self) -> str:
        return self.tool_name


class CompactionCheckpoint(models.Model):
    """Up to `base_event_seq` a model is shown `summary` in place of the messages."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="compaction_checkpoints"
    )
    scope_id = models.UUIDField()
    session = models.ForeignKey(
        Session, on_delete=models.PROTECT, related_name="checkpoints", db_constraint=False
    )
    base_event_seq = models.PositiveBigIntegerField()
    summary = models.TextField()
    created_by_run_id = models.UUIDField()
    tokens_before = models.PositiveIntegerField()
    tokens_after = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "base_event_seq"], name="checkpoint_once"),
        ]

    def __str__(self) -> str:
        return f"{self.session_id} up to {self.base_event_seq}"


class RunEvent(models.Model):
    """A fact of a session, numbered from 1 without gaps; written before anybody is told."""

    class Type(models.TextChoices):
        RUN_CREATED = "run.created"
        RUN_STARTED = "run.started"
        ASSISTANT_DELTA = "assistant.delta"
        ASSISTANT_MESSAGE = "assistant.message"
        TOOL_CALL = "tool.call"
        TOOL_RESULT = "tool.result"
        APPROVAL_REQUIRED = "tool.approval_required"
        APPROVAL_DECIDED = "tool.approval_decided"
        CONTEXT_COMPACTED = "context.compacted"
        # One that a client added to the conversation without a run.
        MESSAGE_CREATED = "message.created"
        MESSAGE_DELETED = "message.deleted"
        RUN_COMPLETED = "run.completed"
        RUN_FAILED = "run.failed"
        RUN_CANCELLED = "run.cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="run_events", db_index=False
    )
    scope_id = models.UUIDField()
    session = models.ForeignKey(
        Session,
        on_delete=models.PROTECT,
        related_name="events",
        db_constraint=False,
        db_index=False,
    )
    run_id = models.UUIDField(null=True, blank=True)
    turn_id = models.UUIDField(null=True, blank=True)
    seq = models.PositiveBigIntegerField()
    type = models.CharField(max_length=24, choices=Type)
    payload = models.JSONField(default=dict)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "seq"], name="run_event_seq"),
            models.CheckConstraint(name="run_event_from_one", condition=Q(seq__gte=1)),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"
