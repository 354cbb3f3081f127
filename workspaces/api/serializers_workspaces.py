"""Workspaces and the key itself."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from holamem.http.fields import NameField, ObjectField, StrictSerializer, TextField
from workspaces.api.pagination import page_of
from workspaces.services.tenants import SLUG
from workspaces.settings import WorkspaceSettings


@extend_schema_field(WorkspaceSettings.model_json_schema())
class SettingsField(ObjectField):
    """Validated by WorkspaceSettings, in the domain."""


class NewWorkspaceSerializer(StrictSerializer):
    slug = TextField(
        max_length=63,
        pattern=f"^{SLUG.pattern}$",
        help_text="1 to 63 of a-z, 0-9 and inner hyphens; for good.",
    )
    name = NameField(max_length=200)
    settings = SettingsField(required=False)


class ChangedWorkspaceSerializer(StrictSerializer):
    """What is left out keeps its value, each setting too."""

    name = NameField(max_length=200, required=False)
    settings = SettingsField(required=False)


class WorkspaceSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    settings = SettingsField(source="preferences.model_dump", help_text="All, with defaults.")
    created_at = serializers.DateTimeField()


WorkspacePageSerializer = page_of(WorkspaceSerializer, name="WorkspacePage")


class OwnerSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()


class MeSerializer(serializers.Serializer[Any]):
    """`workspace` and `end_user` are null unless the key is bound to one."""

    key = serializers.CharField(source="principal.label")
    tenant = OwnerSerializer()
    workspace = OwnerSerializer(allow_null=True)
    end_user = serializers.CharField(source="principal.end_user_ref", allow_null=True)
    permissions = serializers.ListField(child=serializers.CharField())
