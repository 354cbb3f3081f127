"""Legal erasure of a leaf, and its receipt."""

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.http.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictSerializer,
    TextField,
    choices,
)
from holamem.http.openapi import operation
from holamem.http.parsers import read_json
from workspaces.api.base import WorkspaceView, validated
from workspaces.models.erasure import Erasure
from workspaces.services.erasure.receipts import receipt
from workspaces.services.erasure.request import REASON_CHARACTERS, erase_leaf, require_leaf


class EraseSerializer(StrictSerializer):
    reason = TextField(
        required=False,
        blank_allowed=True,
        max_length=REASON_CHARACTERS,
        help_text="Kept with the receipt, so it must not repeat what is erased.",
    )
    only_this = StrictBooleanField(
        required=False, help_text="This leaf alone, without its history and its copies."
    )


class ErasureCountsSerializer(serializers.Serializer[Any]):
    """What goes; `links`, `entities` and `retrievals` are known when it is complete."""

    leaves = serializers.IntegerField()
    summaries = serializers.IntegerField()
    bodies = serializers.IntegerField()
    events = serializers.IntegerField()
    chunks = serializers.IntegerField()
    entries = serializers.IntegerField(help_text="Rows of the search index.")
    links = serializers.IntegerField(help_text="Mentions of entities.")
    entities = serializers.IntegerField(help_text="Entities that nothing speaks of any more.")
    retrievals = serializers.IntegerField(help_text="Questions and gaps that quoted the text.")


class ReceiptSerializer(serializers.Serializer[Any]):
    """`completed_at` is null until the last file and trace is gone."""

    erasure_id = serializers.UUIDField()
    kind = StrictChoiceField(choices=choices(Erasure.TargetKind.values))
    leaf_id = serializers.UUIDField(allow_null=True, help_text="Null for a whole end user.")
    status = StrictChoiceField(choices=choices(Erasure.Status.values))
    only_this = serializers.BooleanField()
    reason = serializers.CharField()
    requested_by = serializers.CharField()
    requested_at = serializers.DateTimeField()
    completed_at = serializers.DateTimeField(allow_null=True)
    counts = ErasureCountsSerializer(source="*")


class LeafEraseView(WorkspaceView):
    bodies_optional = ("POST",)
    bodies = {"POST": EraseSerializer}

    @operation(
        "leaves_erase",
        summary="Erase a leaf for good",
        answers={202: ReceiptSerializer},
        problems=(404, 409, 413, 415),
    )
    def post(self, request: Request, ws: str, leaf_id: UUID) -> Response:
        """Remove a leaf with its history, its sources' text and all that was written from it.

        From this answer on nothing of it can be read; files and traces are gone within a minute.
        A leaf that was erased before gives the same receipt again. There is no way back.
        """
        require_leaf(self.workspace, scopes=self.change_scopes, leaf_id=leaf_id)
        body = validated(EraseSerializer, read_json(request, optional=True).data)
        taken = erase_leaf(
            self.workspace,
            principal=self.principal,
            scopes=self.change_scopes,
            leaf_id=leaf_id,
            reason=body.get("reason", ""),
            only_this=body.get("only_this", False),
        )
        return Response(ReceiptSerializer(taken).data, status=202)


class ErasureView(WorkspaceView):
    @operation("erasures_get", summary="Look at one erasure", answers={200: ReceiptSerializer})
    def get(self, request: Request, ws: str, erasure_id: UUID) -> Response:
        """The receipt: what went, and whether all of it is gone. Holds ids and counts only."""
        found = receipt(self.workspace, scopes=self.id_scopes, erasure_id=erasure_id)
        return Response(ReceiptSerializer(found).data)
