"""Webhooks, without their addresses and salts: either may open the other side."""

from django.contrib import admin

from workspaces.admin.base import ReadOnlyAdmin
from workspaces.models.webhooks import Webhook, WebhookDelivery


@admin.register(Webhook)
class WebhookPage(ReadOnlyAdmin):
    exclude = ("url", "salt")
    list_display = ("id", "workspace", "events", "enabled", "created_at", "deleted_at")
    list_filter = ("enabled",)
    search_fields = ("=id", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(WebhookDelivery)
class WebhookDeliveryPage(ReadOnlyAdmin):
    list_display = (
        "event", "workspace", "webhook_id", "state", "attempts", "next_try_at", "answer_status",
        "error",
    )  # fmt: skip
    list_filter = ("state", "event")
    search_fields = ("=id", "=webhook__id", "workspace__slug")
    list_select_related = ("workspace",)
    raw_id_fields = ("webhook",)
