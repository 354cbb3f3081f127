"""One leaf or one summary."""

import hashlib
from typing import Any
from uuid import UUID

from django.utils.http import parse_etags, quote_etag
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.errors import NotFound
from holamem.http.openapi import IF_NONE_MATCH, operation
from workspaces.api.base import WorkspaceView
from workspaces.api.serializers_memory import (
    HistorySerializer,
    LeafSerializer,
    SummarySerializer,
)
from workspaces.models.trees import GONE_LEAVES
from workspaces.services.node_view import NodeView, Version, node_view

ETAG_DIGITS = 32


class NodeApiView(WorkspaceView):
    """Leaves and summaries have separate addresses: an id of the other kind is a 404.

    So is an erased leaf, and a summary that may still speak of what was forgotten.
    """

    def node(self, node_id: UUID, *, kind: str) -> NodeView:
        found = node_view(self.workspace, scopes=self.id_scopes, node_id=node_id)
        hidden = found.node.status in GONE_LEAVES or (kind == "summary" and found.node.withheld)
        if found.node.kind != kind or hidden:
            raise NotFound("There is no such node.")
        return found

    def answer(self, request: Request, shown: Any) -> Response:
        """With a tag of its content, and without the content for who has it."""
        tag = quote_etag(hashlib.sha256(JSONRenderer().render(shown)).hexdigest()[:ETAG_DIGITS])
        known = parse_etags(request.headers.get("If-None-Match", ""))
        if "*" in known or tag in (item.removeprefix("W/") for item in known):
            return Response(status=304, headers={"ETag": tag})
        return Response(shown, headers={"ETag": tag})


class LeafView(NodeApiView):
    @operation(
        "leaves_get",
        summary="Look at one leaf",
        answers={200: LeafSerializer, 304: None},
        parameters=[IF_NONE_MATCH],
    )
    def get(self, request: Request, ws: str, leaf_id: UUID) -> Response:
        """A source leaf with its text, its place in the tree and the events behind it."""
        return self.answer(request, LeafSerializer(self.node(leaf_id, kind="leaf")).data)


class LeafHistoryView(NodeApiView):
    @operation(
        "leaves_history", summary="How a leaf's subject changed", answers={200: HistorySerializer}
    )
    def get(self, request: Request, ws: str, leaf_id: UUID) -> Response:
        """What this leaf superseded and what superseded it, newest first."""
        found = self.node(leaf_id, kind="leaf")
        alone = [Version(found.node, None)]
        shown = {"leaf_id": leaf_id, "results": found.history or alone}
        return Response(HistorySerializer(shown).data)


class SummaryView(NodeApiView):
    @operation(
        "summaries_get",
        summary="Look at one summary",
        answers={200: SummarySerializer, 304: None},
        parameters=[IF_NONE_MATCH],
    )
    def get(self, request: Request, ws: str, summary_id: UUID) -> Response:
        """A sealed summary with its text and its children. Quarantined ones are not shown."""
        found = self.node(summary_id, kind="summary")
        return self.answer(request, SummarySerializer(found).data)
