"""Legal erasures and their tombstones: ids, hashes and counts, as they hold nothing else."""

from django.contrib import admin

from workspaces.admin.base import ReadOnlyAdmin
from workspaces.models.erasure import ErasedText, Erasure


@admin.register(Erasure)
class ErasurePage(ReadOnlyAdmin):
    exclude = ("tombstones",)  # may name thousands of rows; the texts below are searched one by one
    list_display = (
        "target_id", "workspace", "requested_by", "only_this", "status", "requested_at",
        "completed_at",
    )  # fmt: skip
    list_filter = ("status", "only_this")
    search_fields = ("=id", "=target_id", "requested_by", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(ErasedText)
class ErasedTextPage(ReadOnlyAdmin):
    list_display = ("leaf_id", "fingerprint", "workspace", "erasure_id", "erased_at")
    list_filter = ("erased_at",)
    search_fields = ("=leaf_id", "=event_id", "fingerprint", "workspace__slug")
    list_select_related = ("workspace",)
    raw_id_fields = ("erasure",)
