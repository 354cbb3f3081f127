"""Distillation: what was made of the sessions' tool results, and a pass by hand."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from agents.api.base import RUN, ConversationView
from agents.api.hot import HotQuery
from agents.distill.backlog import backlog_of
from agents.distill.reading import distill_by_hand, dry_run, page_of_distillations
from agents.services.sessions import get_session
from holamem.http.fields import StrictBooleanField, StrictSerializer, StrictUUIDField
from holamem.http.openapi import operation
from workspaces.api.pagination import link_field, page_answer, wanted_slice


class NewDistillationSerializer(StrictSerializer):
    session_id = StrictUUIDField()
    dry_run = StrictBooleanField(
        required=False, help_text="Answer with what would be written, and write nothing."
    )


class KeptStatementSerializer(serializers.Serializer[Any]):
    """`message_ids` are the tools' results that show it."""

    text = serializers.CharField()
    topic = serializers.CharField()
    message_ids = serializers.ListField(child=serializers.UUIDField())


class DroppedSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    reason = serializers.CharField()


class ProposalSerializer(serializers.Serializer[Any]):
    messages = serializers.IntegerField(help_text="New messages that were read.")
    results = serializers.IntegerField(help_text="Those among them that are evidence.")
    statements = KeptStatementSerializer(many=True)
    dropped = DroppedSerializer(many=True)
    summaries = serializers.DictField(
        child=serializers.CharField(), help_text="The index line of each topic."
    )


class DistillationSerializer(ProposalSerializer):
    distillation_id = serializers.UUIDField(source="id")
    session_id = serializers.UUIDField()
    trigger = serializers.CharField()
    status = serializers.CharField()
    from_seq = serializers.IntegerField(help_text="The pass begins after this event.")
    to_seq = serializers.IntegerField()
    error = serializers.CharField()
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class QueuedSerializer(serializers.Serializer[Any]):
    session_id = serializers.UUIDField()
    status = serializers.CharField()


class BacklogSerializer(serializers.Serializer[Any]):
    sessions = serializers.IntegerField(
        help_text="Their last pass failed, and none made up for it."
    )
    messages = serializers.IntegerField(help_text="Of those passes; they stand in the history.")


class DistillationPageSerializer(serializers.Serializer[Any]):
    results = DistillationSerializer(many=True)
    next = link_field()
    previous = link_field()
    backlog = BacklogSerializer()


class DistillationsView(ConversationView):
    permissions = {"POST": RUN}
    queries = {"GET": HotQuery}
    bodies = {"POST": NewDistillationSerializer}

    @operation(
        "distillations_list",
        summary="List distillations",
        answers={200: DistillationPageSerializer},
    )
    def get(self, request: Request, ws: str) -> Response:
        """Newest first: what became memory, and what no result of a tool had shown.

        `backlog`: what failed and waits. Why a service is let alone is told by `circuits`.
        """
        owner = self.workspace.id
        listed = page_of_distillations(
            self.workspace,
            scopes=self.selection().scopes,
            wanted=wanted_slice(request, params=self.params, owner=owner),
        )
        answer = page_answer(
            request,
            listed=listed,
            owner=owner,
            show=lambda row: dict(DistillationSerializer(row).data),
        )
        backlog = backlog_of(self.workspace, scopes=self.selection().scopes)
        return Response({**answer, "backlog": BacklogSerializer(backlog).data})

    @operation(
        "distillations_create",
        summary="Distil a session now",
        answers={200: ProposalSerializer, 202: QueuedSerializer},
        problems=(404, 413, 415, 503),
    )
    def post(self, request: Request, ws: str) -> Response:
        """By a worker, soon; or, with `dry_run`, what that would write."""
        body = self.read_body(request)
        session = get_session(self.workspace, scopes=self.own_scopes, session_id=body["session_id"])
        if body.get("dry_run", False):
            found = dry_run(self.workspace, session=session)
            return Response(ProposalSerializer(found).data)
        distill_by_hand(self.workspace, session=session)
        queued = {"session_id": session.id, "status": "queued"}
        return Response(QueuedSerializer(queued).data, status=202)
