"""Events, chunks and idempotency records: looked at, never edited, and without their text."""

from django.contrib import admin

from workspaces.admin.base import ReadOnlyAdmin
from workspaces.models.log import Chunk, Event, IdempotencyRecord


@admin.register(Event)
class EventPage(ReadOnlyAdmin):
    exclude = ("payload_text", "metadata")
    list_display = (
        "id", "workspace", "kind", "category", "status", "attempts", "source", "received_at"
    )  # fmt: skip
    list_filter = ("status", "kind", "category")
    search_fields = ("=id", "source", "external_id", "session_ref", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(Chunk)
class ChunkPage(ReadOnlyAdmin):
    exclude = ("text",)
    list_display = (
        "id", "workspace", "position", "outcome", "decision", "reason", "admission_confidence",
        "match_confidence", "create_confidence", "judged_by",
    )  # fmt: skip
    list_filter = ("outcome", "decision", "reason")
    search_fields = ("=id", "=event__id", "fingerprint", "workspace__slug")
    list_select_related = ("workspace",)
    raw_id_fields = ("event", "leaf")


@admin.register(IdempotencyRecord)
class IdempotencyPage(ReadOnlyAdmin):
    exclude = ("answer", "answer_body", "lease_token")
    list_display = ("key", "path", "workspace", "answer_status", "is_done", "created_at")
    list_filter = ("answer_status",)
    search_fields = ("key", "path", "workspace__slug")
    list_select_related = ("workspace",)
