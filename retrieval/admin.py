"""Django admin of the read side: the gap ledger and the retrieval log."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from retrieval.models import Gap, RetrievalLog
from workspaces.admin.base import ReadOnlyAdmin


@admin.register(Gap)
class GapPage(ReadOnlyAdmin):
    exclude = ("embedding",)
    list_display = ("question", "kind", "status", "times_asked", "last_asked_at", "workspace")
    list_filter = ("status", "kind")
    search_fields = ("question", "workspace__slug")
    list_select_related = ("workspace",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Gap]:
        return super().get_queryset(request).defer("embedding")


@admin.register(RetrievalLog)
class RetrievalLogPage(ReadOnlyAdmin):
    list_display = (
        "created_at", "workspace", "intent", "coverage_level", "coverage_score", "query"
    )  # fmt: skip
    list_filter = ("coverage_level", "intent")
    search_fields = ("query", "workspace__slug")
    list_select_related = ("workspace",)
