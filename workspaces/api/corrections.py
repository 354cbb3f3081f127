"""What people change by hand: correct, forget, restore and move a leaf; the audit log, and undo."""

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.errors import PermissionDenied
from holamem.http.fields import NameField, StrictChoiceField, StrictSerializer, TextField, choices
from holamem.http.openapi import operation
from workspaces.api.base import ApiView, WorkspaceView
from workspaces.api.pagination import PageQuery, page_answer, page_of, wanted_slice
from workspaces.api.permissions import ADMIN
from workspaces.models.entities import Entity
from workspaces.services import audit
from workspaces.services.chunking import HARD_CAP
from workspaces.services.corrections.correct import correct_leaf
from workspaces.services.corrections.forget import forget_leaf, restore_leaf
from workspaces.services.corrections.leaf_state import find_leaf
from workspaces.services.corrections.move import move_leaf
from workspaces.services.corrections.undo import undo_change
from workspaces.services.placement import NAME_CHARACTERS, NewEntityPlan

SLUG_CHARACTERS = 80
ACTION_CHARACTERS = 60


class CorrectionSerializer(StrictSerializer):
    text = TextField(max_length=HARD_CAP, help_text="What is true instead, as one memory.")


class NewEntitySerializer(StrictSerializer):
    name = NameField(max_length=NAME_CHARACTERS)
    type = StrictChoiceField(choices=choices(Entity.Type.values))


class MoveSerializer(StrictSerializer):
    """Exactly one of the two."""

    entity = TextField(
        required=False, max_length=SLUG_CHARACTERS, help_text="Slug of an entity of that memory."
    )
    new_entity = NewEntitySerializer(
        required=False, help_text="A name that is known already is that entity."
    )


class CorrectedSerializer(serializers.Serializer[Any]):
    leaf_id = serializers.UUIDField(help_text="The new leaf.")
    replaces = serializers.UUIDField(help_text="The leaf that it superseded.")
    audit_id = serializers.UUIDField()


class ChangedSerializer(serializers.Serializer[Any]):
    leaf_id = serializers.UUIDField()
    audit_id = serializers.UUIDField()


class UndoneSerializer(serializers.Serializer[Any]):
    audit_id = serializers.UUIDField(help_text="The entry of the undoing.")
    undoes = serializers.UUIDField(help_text="The entry that was taken back.")


class MovedSerializer(serializers.Serializer[Any]):
    leaf_id = serializers.UUIDField(help_text="The leaf that holds the text in the other tree.")
    moved_from = serializers.UUIDField()
    tree_key = serializers.CharField()
    is_linked = serializers.BooleanField(
        help_text="The other tree had this text: its leaf took the sources over."
    )
    audit_id = serializers.UUIDField()


class AuditSerializer(serializers.Serializer[Any]):
    """One change by a person or a key. `detail` holds ids and names, never memory text."""

    audit_id = serializers.UUIDField(source="id")
    action = serializers.CharField()
    actor = serializers.CharField()
    target = serializers.CharField(help_text="Id or slug of what was changed; may be empty.")
    detail = serializers.DictField()
    at = serializers.DateTimeField()
    undoes = serializers.UUIDField(allow_null=True, help_text="The entry that this one took back.")
    undone_by = serializers.UUIDField(allow_null=True, help_text="The entry that took this back.")


class AuditListQuery(PageQuery):
    action = TextField(
        required=False, max_length=ACTION_CHARACTERS, help_text="Such as `leaf.corrected`."
    )


AuditPageSerializer = page_of(AuditSerializer, name="AuditPage")


class LeafChangeView(WorkspaceView):
    """The leaf is looked for before the body is: what is not there is a 404 whatever was sent."""

    def require_leaf(self, leaf_id: UUID) -> None:
        find_leaf(self.workspace, scopes=self.change_scopes, leaf_id=leaf_id)


class LeafCorrectView(LeafChangeView):
    bodies = {"POST": CorrectionSerializer}

    @operation(
        "leaves_correct",
        summary="Correct a leaf",
        answers={200: CorrectedSerializer},
        problems=(404, 409, 413, 415, 507),
    )
    def post(self, request: Request, ws: str, leaf_id: UUID) -> Response:
        """A new leaf with this text supersedes the old one, which stays as history.

        Secrets in the text are masked. A leaf that is not the current one is a 409 that names
        the current one; a leaf of a connected source is changed at its source.
        """
        self.require_leaf(leaf_id)
        body = self.read_body(request)
        made = correct_leaf(
            self.workspace,
            principal=self.principal,
            scopes=self.change_scopes,
            leaf_id=leaf_id,
            text=body["text"],
        )
        return Response(CorrectedSerializer(made).data)


class LeafForgetView(LeafChangeView):
    @operation(
        "leaves_forget",
        summary="Forget a leaf",
        answers={200: ChangedSerializer},
        problems=(404, 409),
    )
    def post(self, request: Request, ws: str, leaf_id: UUID) -> Response:
        """From now on nothing returns its text: summaries that speak of it are withheld and made
        again without it. It can be restored; to remove the text for good, erase it.
        """
        self.require_leaf(leaf_id)
        self.read_no_body(request)
        done = forget_leaf(
            self.workspace, principal=self.principal, scopes=self.change_scopes, leaf_id=leaf_id
        )
        return Response(ChangedSerializer(done).data)


class LeafRestoreView(LeafChangeView):
    @operation(
        "leaves_restore",
        summary="Restore a forgotten leaf",
        answers={200: ChangedSerializer},
        problems=(404, 409),
    )
    def post(self, request: Request, ws: str, leaf_id: UUID) -> Response:
        """It is found again as before. A 409 when its tree holds the same text meanwhile."""
        self.require_leaf(leaf_id)
        self.read_no_body(request)
        done = restore_leaf(
            self.workspace, principal=self.principal, scopes=self.change_scopes, leaf_id=leaf_id
        )
        return Response(ChangedSerializer(done).data)


class LeafMoveView(LeafChangeView):
    bodies = {"POST": MoveSerializer}

    @operation(
        "leaves_move",
        summary="Move a leaf to another tree",
        answers={200: MovedSerializer},
        problems=(404, 409, 413, 415, 507),
    )
    def post(self, request: Request, ws: str, leaf_id: UUID) -> Response:
        """A new leaf under the named entity, known or new; the old one is inactive from then on."""
        self.require_leaf(leaf_id)
        body = self.read_body(request)
        named = body.get("new_entity")
        moved = move_leaf(
            self.workspace,
            principal=self.principal,
            scopes=self.change_scopes,
            leaf_id=leaf_id,
            entity_slug=body.get("entity"),
            new_entity=None if named is None else NewEntityPlan(**named),
        )
        return Response(MovedSerializer(moved).data)


class AuditView(WorkspaceView):
    queries = {"GET": AuditListQuery}

    @operation("audit_list", summary="Who changed what", answers={200: AuditPageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """Changes by people and keys, newest first.

        Those of end users' memory are listed for keys with `memory:all_users`.
        """
        listed = audit.list_audit(
            self.workspace,
            scopes=self.list_scopes,
            wanted=wanted_slice(request, params=self.params, owner=self.workspace.id),
            action=self.params.get("action"),
        )
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=self.workspace.id,
                show=lambda row: dict(AuditSerializer(row).data),
            )
        )


class TenantAuditView(ApiView):
    permissions = {"GET": ADMIN}
    queries = {"GET": PageQuery}

    @operation(
        "audit_list_of_tenant",
        summary="Who changed members and keys",
        answers={200: AuditPageSerializer},
        problems=(),
    )
    def get(self, request: Request) -> Response:
        """What was done to the tenant itself, newest first. Needs a key of the whole tenant."""
        if self.principal.workspace_id is not None:
            raise PermissionDenied("A key of one workspace reads that one's log.")
        owner: UUID = self.principal.tenant_id
        wanted = wanted_slice(request, params=self.params, owner=owner)
        return Response(
            page_answer(
                request,
                listed=audit.list_tenant_audit(self.principal, wanted=wanted),
                owner=owner,
                show=lambda row: dict(AuditSerializer(row).data),
            )
        )


class AuditUndoView(WorkspaceView):
    @operation(
        "audit_undo",
        summary="Undo a change",
        answers={200: UndoneSerializer},
        problems=(404, 409, 507),
    )
    def post(self, request: Request, ws: str, audit_id: UUID) -> Response:
        """Takes one change back. A 409 when it was undone before, or when what it changed has
        changed again since.
        """
        audit.find_entry(self.workspace, scopes=self.change_scopes, audit_id=audit_id)
        self.read_no_body(request)
        done = undo_change(
            self.workspace,
            principal=self.principal,
            scopes=self.change_scopes,
            audit_id=audit_id,
        )
        return Response({"audit_id": str(done.audit_id), "undoes": str(audit_id)})
