"""Sessions and their messages."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from agents.api.base import RUN, ConversationView, SessionView
from agents.api.serializers import (
    MessageHitsSerializer,
    SessionMessagePageSerializer,
    SessionMessageSerializer,
    SessionPageSerializer,
    SessionSerializer,
)
from agents.hot.message_index import MAX_HITS, search_messages
from agents.models.conversations import DEFAULT_AGENT, Message, Session
from agents.services.messages import delete_message
from agents.services.openings import open_session
from agents.services.pages import names_of, page_of_messages, page_of_sessions
from agents.services.posting import POSTED_ROLES, post_message
from agents.services.runs import CONTENT_CHARACTERS
from agents.services.sessions import TITLE_CHARACTERS, archive_session, update_session
from holamem.http.fields import (
    NameField,
    QueryIntegerField,
    StrictChoiceField,
    StrictSerializer,
    TextField,
    choices,
)
from holamem.http.openapi import operation
from workspaces.api.base import REF_CHARACTERS, UserQuery
from workspaces.api.pagination import PageQuery, page_answer, wanted_slice
from workspaces.services.listing import Listed

AGENT_CHARACTERS = 63
QUERY_CHARACTERS = 1_000
DEFAULT_HITS = 10
CHANGES = (404, 409, 413, 415)


class NewSessionSerializer(StrictSerializer):
    agent = TextField(
        required=False,
        max_length=AGENT_CHARACTERS,
        help_text="Slug; the default agent when there is none of it.",
    )
    user_id = NameField(
        required=False, max_length=REF_CHARACTERS, help_text="The end user who talks."
    )
    title = TextField(required=False, blank_allowed=True, max_length=TITLE_CHARACTERS)


class SessionChangesSerializer(StrictSerializer):
    agent = TextField(
        required=False, max_length=AGENT_CHARACTERS, help_text="Slug; for runs from now on."
    )
    title = TextField(required=False, blank_allowed=True, max_length=TITLE_CHARACTERS)


class SessionQuery(PageQuery, UserQuery):
    status = StrictChoiceField(
        choices=choices(Session.Status.values), required=False, help_text="Those in this state."
    )


class NewMessageSerializer(StrictSerializer):
    role = StrictChoiceField(choices=choices(map(str, POSTED_ROLES)))
    content = TextField(max_length=CONTENT_CHARACTERS)


class SessionsView(ConversationView):
    permissions = {"POST": RUN}
    queries = {"GET": SessionQuery}
    bodies = {"POST": NewSessionSerializer}

    @operation("sessions_list", summary="List sessions", answers={200: SessionPageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """Newest first: those of nobody, of the end user `user_id`, or with `*` everyone's."""
        listed = page_of_sessions(
            self.workspace,
            scopes=self.listed_scopes(),
            wanted=wanted_slice(request, params=self.params, owner=self.workspace.id),
            status=self.params.get("status"),
        )
        return Response(self.page(request, listed))

    def page(self, request: Request, listed: Listed[Session]) -> dict[str, Any]:
        names = names_of(self.workspace, scope_ids=[row.scope_id for row in listed.rows])
        return page_answer(
            request,
            listed=listed,
            owner=self.workspace.id,
            show=lambda row: dict(SessionSerializer(row, context={"names": names}).data),
        )

    @operation(
        "sessions_create",
        summary="Begin a session",
        answers={201: SessionSerializer},
        problems=CHANGES,
    )
    def post(self, request: Request, ws: str) -> Response:
        """A conversation with an agent, of an end user or of nobody."""
        body = self.read_body(request)
        made = open_session(
            self.workspace,
            principal=self.principal,
            user_id=body.get("user_id"),
            agent_slug=body.get("agent", DEFAULT_AGENT),
            title=body.get("title", ""),
        )
        return Response(self.shown(made), status=201)


class OneSessionView(SessionView):
    permissions = {"PATCH": RUN}
    bodies = {"PATCH": SessionChangesSerializer}

    @operation("sessions_get", summary="Look at one session", answers={200: SessionSerializer})
    def get(self, request: Request, ws: str, session_id: UUID) -> Response:
        """Its agent, its state, and the run that is active."""
        return Response(self.shown(self.session))

    @operation(
        "sessions_update",
        summary="Change a session",
        answers={200: SessionSerializer},
        problems=CHANGES,
    )
    def patch(self, request: Request, ws: str, session_id: UUID) -> Response:
        """Its title, or the agent of its later runs."""
        body = self.read_body(request)
        changed = update_session(
            self.workspace,
            scopes=self.own_scopes,
            session_id=session_id,
            title=body.get("title"),
            agent_slug=body.get("agent"),
        )
        return Response(self.shown(changed))


class SessionArchiveView(SessionView):
    permissions = {"POST": RUN}

    @operation(
        "sessions_archive",
        summary="Put a session away",
        answers={200: SessionSerializer},
        problems=CHANGES,
    )
    def post(self, request: Request, ws: str, session_id: UUID) -> Response:
        """It takes no more runs; what was said stays. Refused while a run has not ended."""
        self.read_no_body(request)
        archived = archive_session(self.workspace, scopes=self.own_scopes, session_id=session_id)
        archived.agent = self.session.agent
        return Response(self.shown(archived))


class MessagesView(SessionView):
    permissions = {"POST": RUN}
    queries = {"GET": PageQuery}
    bodies = {"POST": NewMessageSerializer}

    @operation(
        "messages_list", summary="List messages", answers={200: SessionMessagePageSerializer}
    )
    def get(self, request: Request, ws: str, session_id: UUID) -> Response:
        """Newest first, without deleted ones. Follow the events after `as_of_event_seq`."""
        owner = self.workspace.id
        listed, as_of = page_of_messages(
            self.workspace,
            session=self.session,
            wanted=wanted_slice(request, params=self.params, owner=owner),
        )
        page = page_answer(request, listed=listed, owner=owner, show=_message)
        return Response({**page, "as_of_event_seq": as_of})

    @operation(
        "messages_create",
        summary="Add a message without a run",
        answers={201: SessionMessageSerializer},
        problems=CHANGES,
    )
    def post(self, request: Request, ws: str, session_id: UUID) -> Response:
        """Of a user or an assistant, as from a conversation that was held elsewhere.

        Nobody answers it; later runs read it. Refused while a run is active.
        """
        body = self.read_body(request)
        made = post_message(self.workspace, scopes=self.own_scopes, session_id=session_id, **body)
        return Response(_message(made), status=201)


class MessageView(SessionView):
    permissions = {"DELETE": RUN}

    @operation("messages_delete", summary="Delete a message", answers={204: None})
    def delete(self, request: Request, ws: str, session_id: UUID, message_id: UUID) -> Response:
        """Hidden from readers, models and the search; the events of the session stay."""
        delete_message(
            self.workspace, scopes=self.own_scopes, session_id=session_id, message_id=message_id
        )
        return Response(status=204)


class SearchQuery(UserQuery):
    query = TextField(max_length=QUERY_CHARACTERS, help_text="Words, in English or Chinese.")
    limit = QueryIntegerField(
        min_value=1, max_value=MAX_HITS, default=DEFAULT_HITS, help_text="Results at most."
    )


class MessageSearchView(ConversationView):
    queries = {"GET": SearchQuery}

    @operation("messages_search", summary="Search messages", answers={200: MessageHitsSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """In sessions of nobody, of the end user `user_id`, or with `*` of everyone."""
        hits = search_messages(
            self.workspace,
            scopes=self.listed_scopes(),
            query=self.params["query"],
            limit=self.params["limit"],
        )
        return Response(MessageHitsSerializer({"results": hits}).data)


def _message(message: Message) -> dict[str, Any]:
    return dict(SessionMessageSerializer(message).data)
