"""Merges of entities and what each did to single leaves."""

from django.contrib import admin

from workspaces.admin.base import ReadOnlyAdmin
from workspaces.models.merges import EntityMerge, MergedLeaf


@admin.register(EntityMerge)
class EntityMergePage(ReadOnlyAdmin):
    list_display = (
        "source", "target", "workspace", "state", "leaves_done", "leaves_total", "created_at"
    )  # fmt: skip
    list_filter = ("state",)
    search_fields = ("source__name", "target__name", "workspace__slug")
    list_select_related = ("workspace", "source", "target")


@admin.register(MergedLeaf)
class MergedLeafPage(ReadOnlyAdmin):
    list_display = ("leaf_id", "kind", "became_id", "merge_id", "workspace", "is_undone")
    list_filter = ("kind", "is_undone")
    search_fields = ("=leaf__id", "=became__id", "workspace__slug")
    list_select_related = ("workspace",)
    raw_id_fields = ("leaf", "became", "merge")
