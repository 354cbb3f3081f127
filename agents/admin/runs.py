"""Runs and what belongs to them, without arguments, results and texts."""

from django.contrib import admin

from agents.models.runs import (
    Approval,
    ApprovalGrant,
    CompactionCheckpoint,
    Run,
    RunEvent,
    ToolCall,
)
from workspaces.admin.base import ReadOnlyAdmin


@admin.register(Run)
class RunPage(ReadOnlyAdmin):
    exclude = ("config", "streamed_text", "lease_token")
    list_display = (
        "id", "workspace", "session_id", "status", "stop_reason", "turns", "input_tokens",
        "output_tokens", "attempts", "created_at", "ended_at",
    )  # fmt: skip
    list_filter = ("status", "stop_reason")
    search_fields = ("=id", "=session__id", "workspace__slug")
    list_select_related = ("workspace",)
    raw_id_fields = ("session",)


@admin.register(ToolCall)
class ToolCallPage(ReadOnlyAdmin):
    exclude = ("arguments", "result")
    list_display = (
        "name", "workspace", "run_id", "position", "status", "needs_approval", "started_at",
        "ended_at",
    )  # fmt: skip
    list_filter = ("status", "name", "needs_approval")
    search_fields = ("=id", "=run__id", "workspace__slug")
    list_select_related = ("workspace",)
    raw_id_fields = ("run",)


@admin.register(Approval)
class ApprovalPage(ReadOnlyAdmin):
    list_display = (
        "id", "workspace", "run_id", "status", "scope", "decided_by", "created_at", "expires_at",
        "decided_at",
    )  # fmt: skip
    list_filter = ("status", "scope")
    search_fields = ("=id", "=run__id", "=session__id", "workspace__slug")
    list_select_related = ("workspace",)
    raw_id_fields = ("session", "run")


@admin.register(ApprovalGrant)
class ApprovalGrantPage(ReadOnlyAdmin):
    list_display = ("tool_name", "workspace", "session_id", "run_id", "approval_id", "created_at")
    list_filter = ("tool_name",)
    search_fields = ("=id", "=session__id", "=run_id", "workspace__slug")
    list_select_related = ("workspace",)
    raw_id_fields = ("session", "approval")


@admin.register(CompactionCheckpoint)
class CompactionCheckpointPage(ReadOnlyAdmin):
    exclude = ("summary",)
    list_display = (
        "session_id", "workspace", "base_event_seq", "tokens_before", "tokens_after", "created_at"
    )  # fmt: skip
    search_fields = ("=id", "=session__id", "workspace__slug")
    list_select_related = ("workspace",)
    raw_id_fields = ("session",)


@admin.register(RunEvent)
class RunEventPage(ReadOnlyAdmin):
    exclude = ("payload",)
    list_display = ("seq", "type", "workspace", "session_id", "run_id", "created_at")
    list_filter = ("type",)
    search_fields = ("=id", "=session__id", "=run_id", "workspace__slug")
    list_select_related = ("workspace",)
    raw_id_fields = ("session",)
