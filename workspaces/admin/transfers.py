"""Exports and imports of workspaces; their archives are fetched over the API."""

from django.contrib import admin

from workspaces.admin.base import ReadOnlyAdmin
from workspaces.models.transfers import Transfer


@admin.register(Transfer)
class TransferPage(ReadOnlyAdmin):
    list_display = (
        "kind", "workspace", "state", "requested_by", "created_at", "finished_at", "archive_bytes",
        "error",
    )  # fmt: skip
    list_filter = ("kind", "state")
    search_fields = ("=id", "workspace__slug")
    list_select_related = ("workspace",)
