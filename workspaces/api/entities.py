"""One entity: look at it, change its names, make it part of another."""

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.database.scope import ALL_SCOPES
from holamem.errors import NotFound
from holamem.http.fields import (
    NameField,
    StrictChoiceField,
    StrictListField,
    StrictSerializer,
    TextField,
    choices,
)
from holamem.http.openapi import operation
from holamem.http.problems import refuse
from workspaces import access
from workspaces.api.base import UserQuery, WorkspaceView
from workspaces.api.serializers_memory import EntitySerializer
from workspaces.models.merges import EntityMerge
from workspaces.services.entities.changes import DESCRIPTION_CHARACTERS, EntityEdit, edit_entity
from workspaces.services.entities.detail import entity_detail
from workspaces.services.entities.merge import merge_entities
from workspaces.services.entities.names import MAX_ALIASES
from workspaces.services.placement import NAME_CHARACTERS

SLUG_CHARACTERS = 80


class EntityEditSerializer(StrictSerializer):
    name = NameField(required=False, max_length=NAME_CHARACTERS)
    aliases = StrictListField(
        required=False,
        max_length=MAX_ALIASES,
        child=NameField(max_length=NAME_CHARACTERS),
        help_text="The whole list; what is missing in it is taken away.",
    )
    description = TextField(required=False, blank_allowed=True, max_length=DESCRIPTION_CHARACTERS)


class EntityMergeSerializer(StrictSerializer):
    into = TextField(max_length=SLUG_CHARACTERS, help_text="Slug of the entity that stays.")


class MergeProgressSerializer(serializers.Serializer[Any]):
    """A merge that goes on in the background, or its undo."""

    into = serializers.CharField()
    state = StrictChoiceField(choices=choices(EntityMerge.State.values))
    leaves_done = serializers.IntegerField()
    leaves_total = serializers.IntegerField()
    audit_id = serializers.UUIDField(help_text="What `audit/{id}:undo` takes back.")


class EntityDetailSerializer(EntitySerializer):
    """An entity with its tree; `merged_into` is the slug of the one that it became part of."""

    tree_id = serializers.UUIDField(allow_null=True)
    tree_key = serializers.CharField(allow_null=True)
    leaf_count = serializers.IntegerField(help_text="Active leaves of its tree.")
    superseded_count = serializers.IntegerField()
    mentions = serializers.IntegerField(help_text="Active leaves of other trees that name it.")
    merged_into = serializers.CharField(allow_null=True)
    merged_from = serializers.ListField(child=serializers.CharField())
    merge = MergeProgressSerializer(allow_null=True)


class EntityApiView(WorkspaceView):
    """A slug exists once per end user: `?user_id=` chooses whose entity is meant."""

    @property
    def own_scope(self) -> list[UUID]:
        """Changes reach the selected memory only: never the shared one beside a user's own."""
        asked = self.params.get("user_id")
        if asked == ALL_SCOPES:
            raise refuse("one_user_required", "A change is made for one end user.", field="user_id")
        scope = self.selection().write_scope
        if asked is not None and scope == self.workspace.id:
            raise NotFound("There is no such entity.")  # that end user has no memory yet
        return [scope]

    def answer(self, slug: str, *, status: int = 200) -> Response:
        scopes = self.own_scope if self.request.method != "GET" else self.selection().scopes
        detail = entity_detail(self.workspace, scopes=scopes, slug=slug)
        return Response(EntityDetailSerializer(detail).data, status=status)


class EntityView(EntityApiView):
    queries = {"GET": UserQuery, "PATCH": UserQuery}
    bodies = {"PATCH": EntityEditSerializer}

    @operation("entities_get", summary="Look at one entity", answers={200: EntityDetailSerializer})
    def get(self, request: Request, ws: str, slug: str) -> Response:
        """Its names, its tree, and what it was merged into. The slug of a merged one still works."""
        return self.answer(slug)

    @operation(
        "entities_update",
        summary="Change an entity's names",
        answers={200: EntityDetailSerializer},
        problems=(404, 409, 413, 415),
    )
    def patch(self, request: Request, ws: str, slug: str) -> Response:
        """Rename it, set its aliases, describe it: all of it or nothing.

        Slug and tree stay. The old name becomes an alias. A name or alias that another entity of
        the type has is a 409 that names it.
        """
        access.get_entity(self.workspace, scopes=self.own_scope, slug=slug)
        edit = EntityEdit(**self.read_body(request))
        edit_entity(
            self.workspace, principal=self.principal, scopes=self.own_scope, slug=slug, edit=edit
        )
        return self.answer(slug)


class EntityMergeView(EntityApiView):
    queries = {"POST": UserQuery}
    bodies = {"POST": EntityMergeSerializer}

    @operation(
        "entities_merge",
        summary="Make an entity part of another",
        answers={202: EntityDetailSerializer},
        problems=(404, 409, 413, 415),
    )
    def post(self, request: Request, ws: str, slug: str) -> Response:
        """From now on its names lead to the other one; its leaves move in the background.

        `merge` shows how far that is. Asking for the same merge again changes nothing.
        """
        access.get_entity(self.workspace, scopes=self.own_scope, slug=slug)
        body = self.read_body(request)
        merge_entities(
            self.workspace,
            principal=self.principal,
            scopes=self.own_scope,
            slug=slug,
            into=body["into"],
        )
        return self.answer(slug, status=202)
