"""What calls of chat models took, and whether their services are let alone."""

from django.contrib import admin

from workspaces.admin.base import ReadOnlyAdmin
from workspaces.models.circuits import Circuit
from workspaces.models.usage import ModelCall, UsageDay


@admin.register(ModelCall)
class ModelCallPage(ReadOnlyAdmin):
    list_display = (
        "at", "workspace", "purpose", "provider", "model", "input_tokens", "output_tokens", "cost",
        "outcome", "duration_ms",
    )  # fmt: skip
    list_filter = ("outcome", "purpose")
    search_fields = ("=id", "=run_id", "=session_id", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(UsageDay)
class UsageDayPage(ReadOnlyAdmin):
    list_display = (
        "day", "workspace", "purpose", "provider", "model", "calls", "without_answer",
        "input_tokens", "output_tokens", "cost", "without_price",
    )  # fmt: skip
    list_filter = ("purpose",)
    search_fields = ("=id", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(Circuit)
class CircuitPage(ReadOnlyAdmin):
    list_display = (
        "provider", "workspace", "failures", "calls", "opened_at", "next_probe_at", "reason",
    )  # fmt: skip
    search_fields = ("=id", "provider", "workspace__slug")
    list_select_related = ("workspace",)
