"""Distillation; what was distilled only on a pass's own page."""

from django.contrib import admin

from agents.models.distillation import Distillation, DistillationNight
from workspaces.admin.base import ReadOnlyAdmin


@admin.register(Distillation)
class DistillationPage(ReadOnlyAdmin):
    list_display = (
        "id", "workspace", "trigger", "status", "messages", "results", "error", "created_at"
    )  # fmt: skip
    list_filter = ("status", "trigger")
    search_fields = ("=id", "=scope_id", "=session__id", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(DistillationNight)
class DistillationNightPage(ReadOnlyAdmin):
    list_display = ("day", "workspace", "sessions", "left_over", "created_at")
    search_fields = ("=id", "workspace__slug")
    list_select_related = ("workspace",)
