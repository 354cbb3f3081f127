"""Connectors to outside systems."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.http.fields import (
    NameField,
    ObjectField,
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictSerializer,
    choices,
)
from holamem.http.openapi import operation
from workspaces.api.base import WorkspaceView
from workspaces.api.pagination import PageQuery, page_answer, page_of, wanted_slice
from workspaces.connectors.registry import kind_names
from workspaces.models.connectors import Connector
from workspaces.services.integrations.connectors import (
    MAX_INTERVAL_MINUTES,
    create_connector,
    disable_connector,
    get_connector,
    list_connectors,
    request_sync,
)


@extend_schema_field(
    {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": (
                    "markdown_folder: absolute path on the server, below a root that the operator"
                    " allows with `HOLAMEM_CONNECTOR_ROOTS`."
                ),
            }
        },
    }
)
class ConnectorSettingsField(ObjectField):
    """Validated by the kind of connector."""


class NewIntegrationSerializer(StrictSerializer):
    provider = NameField(
        max_length=60, help_text="Names the tree, with `account`; no slash and no colon."
    )
    account = NameField(max_length=200, help_text="Names the tree, with `provider`; no slash.")
    kind = StrictChoiceField(choices=choices(kind_names()), help_text="What is connected.")
    settings = ConnectorSettingsField(help_text="By kind: `path` of a markdown_folder.")
    interval_minutes = StrictIntegerField(
        min_value=1,
        max_value=MAX_INTERVAL_MINUTES,
        required=False,
        help_text="Read it again this long after each pass; only on request when left out.",
    )


class SyncFailureSerializer(serializers.Serializer[Any]):
    external_id = serializers.CharField()
    reason = serializers.CharField()


class SyncProgressSerializer(serializers.Serializer[Any]):
    """Of the pass that runs, or of the last one."""

    seen = serializers.IntegerField(default=0)
    changed = serializers.IntegerField(default=0)
    deleted = serializers.IntegerField(default=0)
    failed = serializers.IntegerField(default=0)
    held_deletions = serializers.IntegerField(
        default=0,
        help_text=(
            "Gone at the source, and kept here until a `sync` says `allow_deletions`: the source"
            " looks emptied."
        ),
    )
    total = serializers.IntegerField(
        default=None, allow_null=True, help_text="Null while it is not known."
    )
    failures = SyncFailureSerializer(
        many=True, default=[], help_text="The first 20 objects that could not be read, and why."
    )


class IntegrationSerializer(serializers.Serializer[Any]):
    integration_id = serializers.UUIDField(source="id")
    provider = serializers.CharField()
    account = serializers.CharField()
    kind = serializers.CharField()
    settings = ConnectorSettingsField()
    interval_minutes = serializers.IntegerField(allow_null=True)
    enabled = serializers.BooleanField(help_text="False: stopped; what it brought is kept.")
    status = StrictChoiceField(choices=choices(Connector.Status.values))
    error = serializers.CharField(help_text="Why the last pass failed; else empty.")
    progress = SyncProgressSerializer()
    tree_key = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    last_started_at = serializers.DateTimeField(allow_null=True)
    last_finished_at = serializers.DateTimeField(allow_null=True)

    def get_tree_key(self, connector: Connector) -> str:
        return f"{connector.provider}:{connector.account}"


class SyncSerializer(StrictSerializer):
    allow_deletions = StrictBooleanField(
        required=False,
        help_text="Delete here what is gone at the source, even where the source looks emptied.",
    )


class SyncQueuedSerializer(serializers.Serializer[Any]):
    integration_id = serializers.UUIDField(source="connector_id")
    job_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=choices(["queued"]), default="queued")


IntegrationPageSerializer = page_of(IntegrationSerializer, name="IntegrationPage")


class IntegrationsView(WorkspaceView):
    queries = {"GET": PageQuery}
    bodies = {"POST": NewIntegrationSerializer}

    @operation(
        "integrations_list",
        summary="List integrations",
        answers={200: IntegrationPageSerializer},
    )
    def get(self, request: Request, ws: str) -> Response:
        """Connectors of the shared memory, oldest first, with how far each was read."""
        listed = list_connectors(
            self.workspace,
            scopes=None,
            wanted=wanted_slice(request, params=self.params, owner=self.workspace.id),
        )
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=self.workspace.id,
                show=lambda row: dict(IntegrationSerializer(row).data),
            )
        )

    @operation(
        "integrations_create",
        summary="Connect an outside system",
        answers={201: IntegrationSerializer},
        problems=(404, 409, 413, 415),
    )
    def post(self, request: Request, ws: str) -> Response:
        """Its objects go into the tree `provider:account` of the shared memory.

        Nothing is read before the first `sync`, or before the interval's next turn. An
        integration that was stopped is taken up again with what is given.
        """
        body = self.read_body(request)
        connector = create_connector(self.workspace, principal=self.principal, **body)
        return Response(IntegrationSerializer(connector).data, status=201)


class IntegrationView(WorkspaceView):
    @operation(
        "integrations_get",
        summary="Look at one integration",
        answers={200: IntegrationSerializer},
    )
    def get(self, request: Request, ws: str, provider: str, account: str) -> Response:
        """Its settings, its state, and the counts of the pass that runs or was last."""
        found = get_connector(self.workspace, scopes=None, provider=provider, account=account)
        return Response(IntegrationSerializer(found).data)

    @operation("integrations_stop", summary="Stop an integration", answers={204: None})
    def delete(self, request: Request, ws: str, provider: str, account: str) -> Response:
        """It is not read again. What it brought into memory is kept."""
        disable_connector(
            self.workspace,
            principal=self.principal,
            scopes=self.change_scopes,
            provider=provider,
            account=account,
        )
        return Response(status=204)


class IntegrationSyncView(WorkspaceView):
    bodies_optional = ("POST",)
    bodies = {"POST": SyncSerializer}

    @operation(
        "integrations_sync",
        summary="Read an outside system again",
        answers={202: SyncQueuedSerializer},
        problems=(404, 409, 413, 415),
    )
    def post(self, request: Request, ws: str, provider: str, account: str) -> Response:
        """Queue a pass: what changed becomes events, what is gone becomes inactive.

        One pass at a time; one that waits already is answered with its job. A source that looks
        emptied is not believed: the pass fails, says so, and deletes nothing, until somebody asks
        with `allow_deletions`.
        """
        get_connector(self.workspace, scopes=self.change_scopes, provider=provider, account=account)
        body = self.read_optional_body(request)
        requested = request_sync(
            self.workspace,
            principal=self.principal,
            scopes=self.change_scopes,
            provider=provider,
            account=account,
            allow_deletions=body.get("allow_deletions", False),
        )
        return Response(SyncQueuedSerializer(requested).data, status=202)
