"""API keys, managed with an API key."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.http.fields import (
    AwareDateTimeField,
    NameField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    StrictSerializer,
    TextField,
    choices,
)
from holamem.http.openapi import operation
from workspaces.api.base import REF_CHARACTERS, ApiView
from workspaces.api.pagination import PageQuery, page_answer, page_of, wanted_slice
from workspaces.api.permissions import ADMIN
from workspaces.models.tenancy import ApiKey
from workspaces.services.keys import (
    DEFAULT_OVERLAP_HOURS,
    MAX_OVERLAP_HOURS,
    MadeKey,
    NewKey,
    create_key,
    get_key,
    list_keys,
    retire_key,
    rotate_key,
)

PERMISSIONS = choices(ApiKey.Permission.values)


class NewKeySerializer(StrictSerializer):
    name = NameField(max_length=200)
    permissions = StrictListField(
        child=StrictChoiceField(choices=PERMISSIONS),
        max_length=len(PERMISSIONS),
        min_length=1,
    )
    workspace = TextField(
        required=False, max_length=63, help_text="Slug; without it the key opens all of them."
    )
    user_id = TextField(
        required=False,
        max_length=REF_CHARACTERS,
        help_text="An end user of that workspace; the key never leaves that one's memory.",
    )
    expires_at = AwareDateTimeField(future=True, required=False)


class RotationSerializer(StrictSerializer):
    overlap_hours = StrictIntegerField(
        required=False,
        min_value=0,
        max_value=MAX_OVERLAP_HOURS,
        help_text=f"How long the old key is still good; {DEFAULT_OVERLAP_HOURS} if not given.",
    )


class KeySerializer(serializers.Serializer[Any]):
    """A key without its secret, which nobody can read again."""

    key_id = serializers.UUIDField(source="id")
    name = serializers.CharField()
    prefix = serializers.CharField(help_text="What its token starts with, after `hm_`.")
    permissions = serializers.ListField(child=serializers.CharField())
    workspace = serializers.CharField(allow_null=True)
    user_id = serializers.CharField(allow_null=True)
    status = StrictChoiceField(choices=choices(["active", "expired", "revoked"]))
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute.")


class MadeKeySerializer(KeySerializer):
    token = serializers.CharField(
        allow_null=True, help_text="Shown this once; null when the answer is given again."
    )


KeyPageSerializer = page_of(KeySerializer, name="KeyPage")


class KeyApiView(ApiView):
    permissions = {"GET": ADMIN, "POST": ADMIN, "DELETE": ADMIN}
    shown_once = ("token",)

    def made(self, made: MadeKey) -> Response:
        shown = {**asdict(made.line), "token": made.token}
        return Response(MadeKeySerializer(shown).data, status=201)


class KeysView(KeyApiView):
    queries = {"GET": PageQuery}
    bodies = {"POST": NewKeySerializer}

    @operation("keys_list", summary="List keys", answers={200: KeyPageSerializer}, problems=())
    def get(self, request: Request) -> Response:
        """All keys of the tenant, newest first; for a key of one workspace, those of that one."""
        owner: UUID = self.principal.tenant_id
        wanted = wanted_slice(request, params=self.params, owner=owner)
        return Response(
            page_answer(
                request,
                listed=list_keys(self.principal, wanted=wanted),
                owner=owner,
                show=lambda row: dict(KeySerializer(row).data),
            )
        )

    @operation(
        "keys_create",
        summary="Create a key",
        answers={201: MadeKeySerializer},
        problems=(409, 413, 415),
    )
    def post(self, request: Request) -> Response:
        """The answer holds the token, once. A tenant has at most 100 active keys."""
        body = self.read_body(request)
        permissions = tuple(body.pop("permissions"))
        wanted = NewKey(**body, permissions=permissions)
        return self.made(create_key(self.principal, wanted=wanted))


class KeyView(KeyApiView):
    @operation("keys_get", summary="Look at one key", answers={200: KeySerializer})
    def get(self, request: Request, key_id: UUID) -> Response:
        """What it may do, and when it was last used."""
        return Response(KeySerializer(get_key(self.principal, key_id=key_id)).data)

    @operation("keys_revoke", summary="Revoke a key", answers={200: KeySerializer})
    def delete(self, request: Request, key_id: UUID) -> Response:
        """No request is admitted with it from now on. It stays in the list."""
        return Response(KeySerializer(retire_key(self.principal, key_id=key_id)).data)


class KeyRotateView(KeyApiView):
    bodies_optional = ("POST",)
    bodies = {"POST": RotationSerializer}

    @operation(
        "keys_rotate",
        summary="Replace a key's token",
        answers={201: MadeKeySerializer},
        problems=(404, 409, 413, 415),
    )
    def post(self, request: Request, key_id: UUID) -> Response:
        """A new key that may do the same. Both are good until the overlap ends, then the new one."""
        get_key(self.principal, key_id=key_id)
        hours = self.read_optional_body(request).get("overlap_hours", DEFAULT_OVERLAP_HOURS)
        return self.made(rotate_key(self.principal, key_id=key_id, overlap_hours=hours))
