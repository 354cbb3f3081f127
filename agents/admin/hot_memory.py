"""The hot layer, without what an index or topic says."""

from django.contrib import admin

from agents.models.hot_memory import HistoryEntry, TextMemory, TextMemoryVersion
from workspaces.admin.base import ReadOnlyAdmin


@admin.register(TextMemory)
class TextMemoryPage(ReadOnlyAdmin):
    exclude = ("content",)
    list_display = (
        "id", "workspace", "kind", "byte_len", "over_budget", "version", "updated_at", "deleted_at"
    )  # fmt: skip
    list_filter = ("kind", "over_budget")
    search_fields = ("=id", "=scope_id", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(TextMemoryVersion)
class TextMemoryVersionPage(ReadOnlyAdmin):
    exclude = ("content",)
    list_display = (
        "id", "workspace", "kind", "version", "is_deletion", "origin", "run_id", "created_at"
    )  # fmt: skip
    list_filter = ("kind", "origin", "is_deletion")
    search_fields = ("=id", "=scope_id", "=run_id", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(HistoryEntry)
class HistoryEntryPage(ReadOnlyAdmin):
    exclude = ("payload",)
    list_display = ("position", "workspace", "kind", "is_erased", "created_at")
    list_filter = ("kind", "is_erased")
    search_fields = ("=id", "=scope_id", "workspace__slug")
    list_select_related = ("workspace",)
