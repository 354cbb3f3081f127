"""End users: the people whose memory the workspace keeps apart."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.http.fields import StrictSerializer, TextField
from holamem.http.openapi import operation
from workspaces.api.base import WorkspaceView
from workspaces.api.erasures import ReceiptSerializer
from workspaces.api.pagination import PageQuery, page_answer, page_of, wanted_slice
from workspaces.models.tenancy import EndUser
from workspaces.services.end_user_view import (
    end_user_detail,
    export_end_user,
    find_end_user,
    list_end_users,
)
from workspaces.services.erasure.request import REASON_CHARACTERS
from workspaces.services.erasure.users import erase_end_user


class EndUserSerializer(serializers.Serializer[Any]):
    user_id = serializers.CharField(source="ref", help_text="The caller's own id.")
    name = serializers.CharField()
    created_at = serializers.DateTimeField()


class EndUserDetailSerializer(EndUserSerializer):
    leaves = serializers.IntegerField(help_text="Active ones.")
    trees = serializers.IntegerField()
    events = serializers.IntegerField()
    last_event_at = serializers.DateTimeField(allow_null=True)


class PersonSerializer(serializers.Serializer[Any]):
    user_id = serializers.CharField()
    name = serializers.CharField()
    metadata = serializers.DictField()
    created_at = serializers.DateTimeField()


class ExportedLeafSerializer(serializers.Serializer[Any]):
    leaf_id = serializers.UUIDField()
    tree_key = serializers.CharField()
    entity = serializers.CharField(allow_null=True)
    status = serializers.CharField()
    title = serializers.CharField()
    summary = serializers.CharField()
    text = serializers.CharField(allow_null=True, help_text="Null where its file is not there.")
    observed_at = serializers.DateTimeField()
    origin_kind = serializers.CharField()


class ExportedEntitySerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    type = serializers.CharField()
    aliases = serializers.ListField(child=serializers.CharField())
    about = serializers.CharField()


class ExportedEventSerializer(serializers.Serializer[Any]):
    """`text` is empty where retention removed it."""

    event_id = serializers.UUIDField()
    kind = serializers.CharField()
    text = serializers.CharField()
    metadata = serializers.DictField()
    actor = serializers.CharField()
    session = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # a field named like an attribute of fields
    external_id = serializers.CharField()
    occurred_at = serializers.DateTimeField(allow_null=True)
    received_at = serializers.DateTimeField()


class ExportSerializer(serializers.Serializer[Any]):
    """All that is kept of one person."""

    user = PersonSerializer()
    leaves = ExportedLeafSerializer(many=True)
    entities = ExportedEntitySerializer(many=True)
    events = ExportedEventSerializer(many=True)
    conversations = serializers.ListField(
        child=serializers.DictField(), help_text="Sessions with agents, each with its messages."
    )
    text_memory = serializers.ListField(
        child=serializers.DictField(), help_text="The index and topics that sessions carry."
    )


class EraseUserSerializer(StrictSerializer):
    reason = TextField(
        required=False,
        blank_allowed=True,
        max_length=REASON_CHARACTERS,
        help_text="Kept with the receipt, so it must not repeat what is erased.",
    )


EndUserPageSerializer = page_of(EndUserSerializer, name="EndUserPage")


class EndUsersView(WorkspaceView):
    queries = {"GET": PageQuery}

    @operation("users_list", summary="List end users", answers={200: EndUserPageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """Oldest first. Needs `memory:all_users`; a key of one end user sees that one."""
        owner = self.workspace.id
        wanted = wanted_slice(request, params=self.params, owner=owner)
        listed = list_end_users(self.workspace, principal=self.principal, wanted=wanted)
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=owner,
                show=lambda row: dict(EndUserSerializer(row).data),
            )
        )


class EndUserApiView(WorkspaceView):
    def user(self, ref: str) -> EndUser:
        return find_end_user(self.workspace, principal=self.principal, ref=ref)


class EndUserView(EndUserApiView):
    bodies_optional = ("DELETE",)
    bodies = {"DELETE": EraseUserSerializer}

    @operation("users_get", summary="Look at one end user", answers={200: EndUserDetailSerializer})
    def get(self, request: Request, ws: str, ref: str) -> Response:
        """How much is kept of that person."""
        detail = end_user_detail(self.workspace, user=self.user(ref))
        return Response(EndUserDetailSerializer(detail).data)

    @operation(
        "users_erase",
        summary="Erase an end user for good",
        answers={202: ReceiptSerializer},
        problems=(404, 409, 413, 415),
    )
    def delete(self, request: Request, ws: str, ref: str) -> Response:
        """Remove all memory of a person, what came in for it, the names, and the person's keys.

        From this answer on nothing of it can be read; files and traces are gone within a minute.
        There is no way back: an event with the same `user_id` begins a new memory.
        """
        user = self.user(ref)
        body = self.read_optional_body(request)
        taken = erase_end_user(
            self.workspace, principal=self.principal, user=user, reason=body.get("reason", "")
        )
        return Response(ReceiptSerializer(taken).data, status=202)


class EndUserExportView(EndUserApiView):
    @operation("users_export", summary="Export an end user", answers={200: ExportSerializer})
    def get(self, request: Request, ws: str, ref: str) -> Response:
        """All memory of a person with its history, and all events, as one document."""
        exported = export_end_user(self.workspace, user=self.user(ref))
        return Response(ExportSerializer(exported).data)
