"""The page that asks memory a question, as any end user, as of any date."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from holamem.errors import InvalidInput
from retrieval.dashboard.highlight import Piece, mark_terms, terms_of
from retrieval.dashboard.reads import end_user_refs
from retrieval.definitions import QUERY_CHARACTERS, parse_request
from retrieval.retrieve import retrieve
from workspaces.dashboard.page import Place, render_page, workspace_page
from workspaces.dashboard.zones import zone_of
from workspaces.models.tenancy import ApiKey
from workspaces.services.principals import select_scopes

SECTIONS = ("known_facts", "recent_high_signal_items", "constraints", "blockers", "open_questions")


@dataclass(frozen=True, slots=True)
class Question:
    """What the form holds; empty `user` asks the shared memory, empty `as_of` today's."""

    text: str
    user: str
    as_of: str

    @classmethod
    def of(cls, request: HttpRequest) -> "Question":
        values = (request.GET.get(name, "").strip() for name in ("q", "user", "as_of"))
        return cls(*values)


@dataclass(frozen=True, slots=True)
class PackSection:
    name: str
    items: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Answer:
    """`data` is the answer as the API gives it; the rest is prepared for reading."""

    data: dict[str, Any]
    sections: list[PackSection]
    excerpts: list[tuple[dict[str, Any], list[Piece]]]


@workspace_page
def ask(request: HttpRequest, place: Place) -> HttpResponse:
    question = Question.of(request)
    answer, problem = None, ""
    if question.text:
        try:
            answer = _answer(place, question, zone=zone_of(request, place.workspace))
        except InvalidInput as error:
            problem = error.message
    return render_page(
        request,
        "dashboard/ask.html",
        place,
        section="ask",
        question=question,
        answer=answer,
        problem=problem,
        max_characters=QUERY_CHARACTERS,
        users=end_user_refs(place.workspace),
        may_ask_all=place.principal.allows(ApiKey.Permission.MEMORY_ALL_USERS),
    )


def _answer(place: Place, question: Question, *, zone: ZoneInfo) -> Answer:
    """Raises InvalidInput."""
    request = parse_request(_fields(question, zone=zone))
    selection = select_scopes(
        place.workspace, principal=place.principal, user_id=question.user or None
    )
    data = retrieve(place.workspace, scopes=selection.scopes, request=request).as_dict()
    pack = data["retrieval_pack"]
    terms = terms_of(question.text)
    return Answer(
        data=data,
        sections=[PackSection(name, pack[name]) for name in SECTIONS if pack[name]],
        excerpts=[(item, mark_terms(item["excerpt"], terms)) for item in data["evidence"]],
    )


def _fields(question: Question, *, zone: ZoneInfo) -> dict[str, Any]:
    fields: dict[str, Any] = {"query": question.text, "explain": True}
    if question.user:
        fields["user_id"] = question.user
    if question.as_of:
        fields["as_of"] = _moment(question.as_of, zone=zone)
    return fields


def _moment(text: str, *, zone: ZoneInfo) -> datetime:
    """A date or date and time of the form, on the viewer's clock."""
    try:
        found = parse_datetime(text if "T" in text or " " in text else f"{text}T23:59:59")
    except ValueError:
        found = None
    if found is None:
        raise InvalidInput(_("Enter the date as 2026-05-20 14:30."), field="as_of")
    return found if found.tzinfo else found.replace(tzinfo=zone)
