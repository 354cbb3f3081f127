"""Entities, trees and their nodes: immutable here, with one action that seals what is due."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from workspaces.admin.base import ReadOnlyAdmin
from workspaces.models.entities import Entity
from workspaces.models.trees import (
    LeafEntity,
    LeafSource,
    RetiredBody,
    SourceLeaf,
    SummaryNode,
    Tree,
)
from workspaces.services.topology import request_seal


@admin.register(Entity)
class EntityPage(ReadOnlyAdmin):
    list_display = ("name", "type", "slug", "workspace", "is_system", "created_at")
    list_filter = ("type", "is_system")
    search_fields = ("name", "slug", "aliases", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(Tree)
class TreePage(ReadOnlyAdmin):
    list_display = (
        "key", "title", "category", "workspace", "height", "leaf_count", "status", "updated_at"
    )  # fmt: skip
    list_filter = ("category", "status", "height")
    search_fields = ("key", "title", "workspace__slug")
    list_select_related = ("workspace",)
    actions = ("seal",)

    def has_seal_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("workspaces.change_tree")

    @admin.action(description=_("Seal what is due in the selected trees"), permissions=["seal"])
    def seal(self, request: HttpRequest, rows: QuerySet[Tree]) -> None:
        trees = list(rows.select_related("workspace"))
        for tree in trees:
            request_seal(tree.workspace, tree=tree)
        count = len(trees)
        self.message_user(
            request, ngettext("%d tree is queued.", "%d trees are queued.", count) % count
        )


@admin.register(SummaryNode)
class SummaryPage(ReadOnlyAdmin):
    list_display = (
        "title", "workspace", "height", "level", "status", "leaf_count", "model", "sealed_at"
    )  # fmt: skip
    list_filter = ("status", "height", "category", "provisional", "model")
    search_fields = ("=id", "title", "workspace__slug", "tree__key")
    list_select_related = ("workspace",)


@admin.register(SourceLeaf)
class LeafPage(ReadOnlyAdmin):
    list_display = (
        "title", "workspace", "category", "status", "origin_kind", "confidence", "observed_at"
    )  # fmt: skip
    list_filter = ("status", "category", "origin_kind", "language", "trust")
    search_fields = ("=id", "title", "subject_key", "workspace__slug", "tree__key")
    list_select_related = ("workspace",)


@admin.register(LeafSource)
class LeafSourcePage(ReadOnlyAdmin):
    list_display = ("leaf_id", "event_id", "workspace", "is_creator")
    list_filter = ("is_creator",)
    search_fields = ("=leaf__id", "=event__id", "workspace__slug")
    list_select_related = ("workspace",)


@admin.register(LeafEntity)
class LeafEntityPage(ReadOnlyAdmin):
    list_display = ("leaf_id", "entity", "workspace")
    list_filter = ("entity__type",)
    search_fields = ("=leaf__id", "entity__name", "workspace__slug")
    list_select_related = ("workspace", "entity")


@admin.register(RetiredBody)
class RetiredBodyPage(ReadOnlyAdmin):
    list_display = ("path", "workspace", "expires_at")
    list_filter = ("expires_at",)
    search_fields = ("path", "workspace__slug")
    list_select_related = ("workspace",)
