"""`Idempotency-Key` for every write, in the frame of all views."""

import hashlib
import logging
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ClassVar
from uuid import UUID

from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from holamem.database.scope import at_commit
from holamem.http.problems import CONTENT_TYPE, Problem, plain_problem, refuse
from workspaces.models.tenancy import Workspace
from workspaces.services.idempotency import (
    Answered,
    Claim,
    KeyedRequest,
    keep_answer,
    marking,
    take_claim,
)
from workspaces.services.principals import Principal

logger = logging.getLogger(__name__)

KEY_CHARACTERS = 255
WRITES = ("POST", "PUT", "PATCH", "DELETE")
REPLAYED = {"Idempotent-Replayed": "true"}


class AnsweredBefore(Exception):
    """Ends a request whose answer is known. Never seen outside of this module's frame."""

    def __init__(self, answer: HttpResponse) -> None:
        super().__init__("answered before")
        self.answer = answer


class IdempotentFrame(APIView):
    """Around the work of a view: `begin_keyed` before it, `end_keyed` after its answer.

    `keeps_answers` is false for questions, whose answers are memory, and for events, which keep
    theirs in the commit that stores them. `shown_once` names fields that no row may hold.
    `claims_late` is for bodies that are too large to be held: the view calls `claim_upload`.
    """

    keeps_answers: ClassVar[bool] = True
    claims_late: ClassVar[bool] = False
    shown_once: ClassVar[tuple[str, ...]] = ()
    _claim: Claim | None = None
    _unclaimed: KeyedRequest | None = None
    _work: ExitStack

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with ExitStack() as self._work:  # left also by what no handler of failures sees
            return super().dispatch(request, *args, **kwargs)

    def begin_keyed(
        self, request: Request, *, principal: Principal, workspace: Workspace | None
    ) -> None:
        """Raises AnsweredBefore with the first answer, or as `take_claim` does."""
        key = idempotency_key(request)
        if key is None or not self.keeps_answers or request.method not in WRITES:
            return
        content = "" if self.claims_late else content_digest(request)
        if principal.key_id is None or content is None:
            return
        keyed = KeyedRequest(
            api_key_id=principal.key_id,
            address=f"{request.method} {request.path}",
            key=key,
            content_sha256=content,
            workspace=workspace,
            scope_id=_scope_of(principal, workspace=workspace),
        )
        if self.claims_late:
            self._unclaimed = keyed
        else:
            self._take(request, keyed)

    def claim_upload(self, request: Request, *, sha256: str) -> None:
        """Once the file was read and before anything is done with it. Raises as `begin_keyed`.

        The digest is that of the file: another way to send the same one is the same request.
        """
        keyed, self._unclaimed = self._unclaimed, None
        if keyed is not None:
            content = _digest_with_query(request, sha256.encode())
            self._take(request, replace(keyed, content_sha256=content))

    def _take(self, request: Request, keyed: KeyedRequest) -> None:
        taken = take_claim(keyed)
        if isinstance(taken, Answered):
            raise AnsweredBefore(_again(request, taken))
        self._claim = taken
        self._work.enter_context(at_commit(marking(taken)))

    def end_keyed(self, response: HttpResponseBase) -> None:
        claim, self._claim = self._claim, None
        if claim is None:
            return
        self._work.close()
        body = _body_of(response, without=self.shown_once)
        try:
            keep_answer(claim, status=response.status_code, body=body)
        except DatabaseError:
            logger.exception("the answer to an idempotency key is lost")


def idempotency_key(request: Request) -> str | None:
    """Raises RequestRefused for a key that cannot be one."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not 0 < len(key) <= KEY_CHARACTERS or not key.isascii() or not key.isprintable():
        raise refuse(
            "invalid_idempotency_key",
            "An Idempotency-Key is 1 to 255 printable ASCII characters.",
            field="Idempotency-Key",
        )
    return str(key)


def content_digest(request: Request) -> str | None:
    """Over query and body; None for a body that is too large, which no view takes."""
    try:
        body: bytes = request._request.body
    except RequestDataTooBig:
        return None
    return _digest_with_query(request, body)


def _digest_with_query(request: Request, content: bytes) -> str:
    query = request.META.get("QUERY_STRING", "").encode()
    return hashlib.sha256(hashlib.sha256(query).digest() + content).hexdigest()


def _scope_of(principal: Principal, *, workspace: Workspace | None) -> UUID | None:
    if workspace is None:
        return None
    return principal.end_user_id or workspace.id


def _again(request: Request, answered: Answered) -> HttpResponse:
    if answered.is_lost:
        lost = Problem(answered.status, "answer_lost", "It was done, but its answer was lost.")
        response = plain_problem(request._request, lost)
    else:
        kind = "application/json" if answered.status < 400 else CONTENT_TYPE
        response = HttpResponse(answered.body, status=answered.status, content_type=kind)
        if not answered.body:
            del response["Content-Type"]
    for name, value in REPLAYED.items():
        response[name] = value
    return response


def _body_of(response: HttpResponseBase, *, without: tuple[str, ...]) -> str:
    if not isinstance(response, Response):
        return ""
    response.render()
    data: Any = response.data
    if without and isinstance(data, dict) and response.status_code < 400:
        kept = {**data, **dict.fromkeys(name for name in without if name in data)}
        rendered: bytes = response.accepted_renderer.render(kept)
        return rendered.decode()
    content: bytes = response.content
    return content.decode()
