"""A session's events: what was, then what comes, as server-sent events."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request

from agents.api.base import SessionView
from agents.models.runs import RunEvent
from agents.streaming.answer import follow_session
from agents.streaming.frames import source_of
from agents.streaming.numbers import LAST_EVENT_ID, known_seq
from holamem.errors import HolamemError
from holamem.http.fields import QueryIntegerField, QuerySerializer, StrictChoiceField, choices
from holamem.http.handover import EVENT_STREAM, stream_response
from holamem.http.openapi import operation
from workspaces.api.permissions import READ
from workspaces.models.tenancy import Workspace
from workspaces.services.principals import admit_key

MAX_SEQ = 2**53 - 1  # the largest whole number that every client's JSON holds
HEADER = OpenApiParameter(
    LAST_EVENT_ID,
    {"type": "integer", "minimum": 0},
    OpenApiParameter.HEADER,
    description="The same as `after`, as browsers send it when they come again; it goes first.",
)


class EventsQuery(QuerySerializer):
    after = QueryIntegerField(
        min_value=0,
        max_value=MAX_SEQ,
        default=0,
        help_text="Number of the last event that is known; 0 for all from the first.",
    )


class StreamedEventSerializer(serializers.Serializer[Any]):
    """One event of the stream, by the names of its lines."""

    id = serializers.CharField(help_text="Number in the session: 1, 2, 3, … without gaps.")
    event = StrictChoiceField(choices=choices(RunEvent.Type.values))
    data = serializers.CharField(  # type: ignore[assignment]  # DRF takes it out
        help_text=(
            "JSON: event_id, session_id, run_id, turn_id, seq, type, payload and created_at."
        )
    )


class AnyAccept(BaseContentNegotiation):
    """Browsers ask for `text/event-stream` only; a problem is JSON all the same."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class SessionEventsView(SessionView):
    content_negotiation_class = AnyAccept
    queries = {"GET": EventsQuery}

    @operation(
        "sessions_events",
        summary="Follow the events of a session",
        answers={(200, EVENT_STREAM): StreamedEventSerializer},
        parameters=[HEADER],
    )
    def get(self, request: Request, ws: str, session_id: UUID) -> HttpResponse:
        """Those after a number, from the log, then each new one when it is stored.

        `text/event-stream`: `id` is the number in the session, which has no gaps; `event` the
        type; `data` a JSON object. A comment every 15 seconds shows that the stream is alive.
        It may end at any time: come again with the last id as `Last-Event-ID` or `after`.
        A number beyond the last event is refused.
        """
        stream = follow_session(
            source_of(self.workspace, session=self.session),
            after=known_seq(
                request.headers.get(LAST_EVENT_ID, ""),
                after=self.params["after"],
                last=self.session.last_event_seq,
            ),
            is_admitted=_admission(_token(request), workspace=self.workspace),
        )
        return stream_response(request._request, stream)


def _token(request: Request) -> str:
    return str(request.META.get("HTTP_AUTHORIZATION", "")).partition(" ")[2]


def _admission(token: str, *, workspace: Workspace) -> Callable[[], bool]:
    """Whether the key still opens this workspace: it may be revoked while the stream is open."""

    def is_admitted() -> bool:
        try:
            admitted = admit_key(token, workspace_slug=workspace.slug)
        except HolamemError:
            return False
        is_theirs = admitted.workspace is not None and admitted.workspace.id == workspace.id
        return is_theirs and admitted.principal.allows(READ)

    return is_admitted
