"""The read side: ask, browse, gaps, feedback, status."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from holamem.http.fields import QuerySerializer
from holamem.http.openapi import operation
from holamem.http.parsers import read_json
from retrieval.access import get_retrieval
from retrieval.api.schema import query_parameters
from retrieval.api.serializers import (
    BrowseAnswerSerializer,
    FeedbackSerializer,
    GapListQuery,
    GapPageSerializer,
    GapSerializer,
    RetrieveAnswerSerializer,
    WorkspaceStatusSerializer,
)
from retrieval.browse import browse
from retrieval.definitions import BrowseRequest, RetrieveRequest, parse_browse, parse_request
from retrieval.feedback import record_feedback
from retrieval.gaps import count_open_gaps, dismiss_gap, get_gap, list_gaps
from retrieval.retrieve import retrieve
from workspaces.api.base import WorkspaceView
from workspaces.api.pagination import page_answer, wanted_slice
from workspaces.api.permissions import READ
from workspaces.services.listing import slice_rows
from workspaces.services.principals import select_scopes
from workspaces.services.status import workspace_status


class RetrieveView(WorkspaceView):
    keeps_answers = False  # a question, though its body makes it a POST
    permissions = {"POST": READ}

    @operation(
        "memory_retrieve",
        summary="Ask memory a question",
        request=RetrieveRequest,
        answers={200: RetrieveAnswerSerializer},
        problems=(404, 413, 415),
        takes_key=False,
    )
    def post(self, request: Request, ws: str) -> Response:
        """What is known, what supports it, what is missing, and where to look next.

        Without `user_id` the shared memory is searched; with it that end user's as well.
        """
        asked = parse_request(read_json(request).data)
        selection = select_scopes(self.workspace, principal=self.principal, user_id=asked.user_id)
        answer = retrieve(self.workspace, scopes=selection.scopes, request=asked)
        return Response(answer.as_dict())


class AnyQuery(QuerySerializer):
    """Hands a flat query on to the definition that validates it."""

    def to_internal_value(self, data: Any) -> Any:
        return dict(data)


class BrowseView(WorkspaceView):
    queries = {"GET": AnyQuery}

    @operation(
        "memory_browse",
        summary="Walk the memory tree",
        parameters=query_parameters(BrowseRequest),
        answers={200: BrowseAnswerSerializer},
    )
    def get(self, request: Request, ws: str) -> Response:
        """A node with its parents and children. For people and debugging; agents ask instead."""
        asked = parse_browse(self.params)
        selection = select_scopes(self.workspace, principal=self.principal, user_id=asked.user_id)
        return Response(browse(self.workspace, scopes=selection.scopes, request=asked).as_dict())


class GapsView(WorkspaceView):
    queries = {"GET": GapListQuery}

    @operation("gaps_list", summary="List gaps", answers={200: GapPageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """What was asked and memory lacked, most wanted first."""
        gaps = list_gaps(
            self.workspace, scopes=self.selection().scopes, status=self.params.get("status")
        )
        owner = self.workspace.id
        wanted = wanted_slice(request, params=self.params, owner=owner)
        return Response(
            page_answer(
                request,
                listed=slice_rows(gaps, wanted=wanted),
                owner=owner,
                show=lambda row: dict(GapSerializer(row).data),
            )
        )


class GapDismissView(WorkspaceView):
    @operation(
        "gaps_dismiss", summary="Dismiss a gap", answers={200: GapSerializer}, problems=(404, 409)
    )
    def post(self, request: Request, ws: str, gap_id: UUID) -> Response:
        """Close a gap that nobody needs to fill. The same question may open a new one."""
        get_gap(self.workspace, scopes=self.change_scopes, gap_id=gap_id)
        self.read_no_body(request)
        gap = dismiss_gap(self.workspace, scopes=self.change_scopes, gap_id=gap_id)
        return Response(GapSerializer(gap).data)


class FeedbackView(WorkspaceView):
    permissions = {"POST": READ}
    bodies = {"POST": FeedbackSerializer}

    @operation(
        "retrievals_feedback",
        summary="Say how useful an answer was",
        answers={204: None},
        problems=(404, 413, 415),
    )
    def post(self, request: Request, ws: str, retrieval_id: UUID) -> Response:
        """Kept with the retrieval; it feeds the calibration of coverage."""
        get_retrieval(self.workspace, scopes=self.change_scopes, retrieval_id=retrieval_id)
        body = self.read_body(request)
        record_feedback(
            self.workspace,
            scopes=self.change_scopes,
            retrieval_id=retrieval_id,
            verdict=body["verdict"],
            evidence_ids=body.get("evidence_ids", []),
            note=body.get("note", ""),
        )
        return Response(status=204)


class StatusView(WorkspaceView):
    @operation(
        "status_get",
        summary="How far memory is behind",
        answers={200: WorkspaceStatusSerializer},
    )
    def get(self, request: Request, ws: str) -> Response:
        """Counts, backlog and open gaps, and whether any work is left to do."""
        status = workspace_status(self.workspace, scopes=self.id_scopes)
        open_gaps = count_open_gaps(self.workspace, scopes=self.id_scopes)
        return Response({**asdict(status), "open_gaps": open_gaps})
