"""Connections to outside systems, without their settings: those may hold what opens the other side."""

from django.contrib import admin

from workspaces.admin.base import ReadOnlyAdmin
from workspaces.models.connectors import Connector, ConnectorObject


@admin.register(Connector)
class ConnectorPage(ReadOnlyAdmin):
    exclude = ("settings", "cursor")
    list_display = (
        "provider", "account", "kind", "workspace", "status", "enabled", "last_finished_at", "error"
    )  # fmt: skip
    list_filter = ("status", "kind", "enabled")
    search_fields = ("provider", "account", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(ConnectorObject)
class ConnectorObjectPage(ReadOnlyAdmin):
    list_display = ("external_id", "connector", "workspace", "is_deleted", "stated_at")
    list_filter = ("is_deleted",)
    search_fields = ("external_id", "connector__account", "workspace__slug")
    list_select_related = ("workspace", "connector")
    raw_id_fields = ("event",)
