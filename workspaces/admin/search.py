"""The search index: derived rows, without their vectors and lexemes."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from workspaces.admin.base import ReadOnlyAdmin
from workspaces.models.index import EmbeddingModel, LexemeEntry, VectorEntry


@admin.register(EmbeddingModel)
class EmbeddingModelPage(ReadOnlyAdmin):
    tenant_path = ""
    list_display = ("name", "dimension", "is_current", "created_at")
    list_filter = ("is_current",)
    search_fields = ("name",)


@admin.register(VectorEntry)
class VectorPage(ReadOnlyAdmin):
    exclude = ("embedding",)
    list_display = ("node_id", "kind", "status", "workspace", "model")
    list_filter = ("kind", "status")
    search_fields = ("=node_id", "=tree_id", "workspace__slug")
    list_select_related = ("workspace", "model")

    def get_queryset(self, request: HttpRequest) -> QuerySet[VectorEntry]:
        return super().get_queryset(request).defer("embedding")


@admin.register(LexemeEntry)
class LexemePage(ReadOnlyAdmin):
    exclude = ("lexemes",)
    list_display = ("node_id", "kind", "status", "length", "workspace")
    list_filter = ("kind", "status")
    search_fields = ("=node_id", "=tree_id", "workspace__slug")
    list_select_related = ("workspace",)
