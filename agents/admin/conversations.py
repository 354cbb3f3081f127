"""Agents, sessions and messages, without what was said and remembered."""

from django.contrib import admin

from agents.models.conversations import Agent, Message, MessageEntry, Session
from workspaces.admin.base import ReadOnlyAdmin


@admin.register(Agent)
class AgentPage(ReadOnlyAdmin):
    """Changed where its values are checked: on its page of the dashboard, or over the API."""

    list_display = ("slug", "workspace", "name", "model_name", "mode", "updated_at", "archived_at")
    list_filter = ("mode",)
    search_fields = ("=id", "slug", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(Session)
class SessionPage(ReadOnlyAdmin):
    exclude = ("title", "frozen_user_index", "frozen_workspace_index")
    list_display = (
        "id", "workspace", "agent", "status", "active_run_id", "last_event_seq", "updated_at"
    )  # fmt: skip
    list_filter = ("status",)
    search_fields = ("=id", "workspace__slug", "=scope_id")
    list_select_related = ("workspace", "agent")
    raw_id_fields = ("agent",)


@admin.register(Message)
class MessagePage(ReadOnlyAdmin):
    exclude = ("content", "attachments", "tool_calls")
    list_display = (
        "id", "workspace", "session_id", "role", "is_partial", "event_seq", "created_at",
        "deleted_at",
    )  # fmt: skip
    list_filter = ("role", "is_partial")
    search_fields = ("=id", "=session__id", "=run_id", "workspace__slug")
    list_select_related = ("workspace",)
    raw_id_fields = ("session",)


@admin.register(MessageEntry)
class MessageEntryPage(ReadOnlyAdmin):
    exclude = ("lexemes",)
    list_display = ("message_id", "workspace", "session_id")
    search_fields = ("=message_id", "=session_id", "workspace__slug")
    list_select_related = ("workspace",)
