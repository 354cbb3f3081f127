"""Events: receive, look at, list."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from holamem.errors import HolamemError
from holamem.http.openapi import IDEMPOTENCY_KEY, operation
from workspaces.api.base import WorkspaceView
from workspaces.api.pagination import page_answer, wanted_slice
from workspaces.api.serializers_events import (
    DryRunSerializer,
    EventBatchSerializer,
    EventLineSerializer,
    EventListQuery,
    EventPageSerializer,
    EventResultSerializer,
    EventSerializer,
    ReceivedEventSerializer,
    ReceivedEventsSerializer,
    ReceiveQuery,
    event_draft,
)
from workspaces.models.log import Event
from workspaces.services.dry_run import dry_run
from workspaces.services.intake import (
    EventDraft,
    Received,
    receive_events,
)
from workspaces.services.listing import list_events
from workspaces.services.messages import messages_to_drafts
from workspaces.services.results import event_result, wait_for_event

WRITE_PROBLEMS = (404, 409, 413, 415, 422)


class EventsView(WorkspaceView):
    keeps_answers = False  # the ids of the events are kept with them
    queries = {"GET": EventListQuery, "POST": ReceiveQuery}
    bodies = {"POST": EventSerializer}

    @operation(
        "events_list", summary="List events, newest first", answers={200: EventPageSerializer}
    )
    def get(self, request: Request, ws: str) -> Response:
        """The ingest log without texts. Filter by `status`, `kind` or `session`."""
        listed = list_events(
            self.workspace,
            scopes=self.selection().scopes,
            wanted=wanted_slice(request, params=self.params, owner=self.workspace.id),
            status=self.params.get("status"),
            kind=self.params.get("kind"),
            session=self.params.get("session"),
        )
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=self.workspace.id,
                show=lambda row: dict(EventLineSerializer(row).data),
            )
        )

    @operation(
        "events_receive",
        summary="Receive one event",
        answers={200: EventResultSerializer, 202: ReceivedEventSerializer},
        problems=WRITE_PROBLEMS,
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, ws: str) -> Response:
        """Store an event; its chunks are judged afterwards.

        202 as soon as it is stored. With `wait=true` 200 with the result of every chunk, or 202
        when the deadline comes first. With `dry_run=true` 200 with the decisions and
        `"status": "dry_run"`; nothing is written.
        """
        draft = event_draft(self.read_body(request))
        if self.params["dry_run"]:
            return self._decide_only(draft)
        received = receive_events(
            self.workspace,
            drafts=[draft],
            principal=self.principal,
            idempotency=self.idempotency(request),
        )
        if self.params["wait"]:
            return self._wait(received)
        return _accepted(_lines(received)[0], received)

    def _decide_only(self, draft: EventDraft) -> Response:
        chunks = dry_run(self.workspace, draft=draft, principal=self.principal)
        return Response(DryRunSerializer({"status": "dry_run", "chunks": chunks}).data)

    def _wait(self, received: Received) -> Response:
        result = wait_for_event(
            self.workspace,
            scopes=self.id_scopes,
            event_id=received.event_ids[0],
            timeout_seconds=self.params["timeout_s"],
        )
        if not result.is_settled:
            line = {"event_id": str(result.event_id), "status": str(Event.Status.PROCESSING)}
            return _accepted(line, received)
        return Response(EventResultSerializer(result).data, headers=_replay_header(received))


class EventBatchView(WorkspaceView):
    keeps_answers = False
    bodies = {"POST": EventBatchSerializer}

    @operation(
        "events_receive_batch",
        summary="Receive up to 500 events, or a chat history",
        answers={202: ReceivedEventsSerializer},
        problems=WRITE_PROBLEMS,
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, request: Request, ws: str) -> Response:
        """Store all events or none: one that is not valid refuses the batch and is named.

        `messages` takes OpenAI and Anthropic chat messages; tool results become `tool_result`
        events and system text is left out.
        """
        body = self.read_body(request)
        received = self._receive(request, body)
        return _accepted({"events": _lines(received)}, received)

    def _receive(self, request: Request, body: dict[str, Any]) -> Received:
        try:
            return receive_events(
                self.workspace,
                drafts=_drafts(body),
                principal=self.principal,
                idempotency=self.idempotency(request),
            )
        except HolamemError as error:
            if "events" in body:  # a message may yield several drafts: its place is unknown
                error.detail["batch"] = "events"
            raise


class EventView(WorkspaceView):
    @operation(
        "events_get",
        summary="Look at one event",
        answers={200: EventResultSerializer},
    )
    def get(self, request: Request, ws: str, event_id: UUID) -> Response:
        """Its state, attempts and error, and what each of its chunks became."""
        result = event_result(self.workspace, scopes=self.id_scopes, event_id=event_id)
        return Response(EventResultSerializer(result).data)


def _drafts(body: dict[str, Any]) -> list[EventDraft]:
    if "events" in body:
        return [event_draft(event) for event in body["events"]]
    return messages_to_drafts(
        body["messages"], user_id=body.get("user_id"), session=body.get("session", "")
    )


def _lines(received: Received) -> list[dict[str, str]]:
    return [
        {"event_id": str(event_id), "status": status}
        for event_id, status in zip(received.event_ids, received.statuses, strict=True)
    ]


def _accepted(body: dict[str, Any], received: Received) -> Response:
    return Response(body, status=202, headers=_replay_header(received))


def _replay_header(received: Received) -> dict[str, str]:
    return {"Idempotent-Replayed": "true"} if received.replayed else {}
