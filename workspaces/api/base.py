"""The frame of every API view: key, workspace, query, then body, in this order."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast
from uuid import UUID

from django.utils import translation
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.database.scope import ALL_SCOPES
from holamem.errors import NotFound
from holamem.http.fields import QuerySerializer, TextField
from holamem.http.parsers import read_json, refuse_forbidden
from holamem.http.problems import refuse
from holamem.http.rate_limit import KeyRateThrottle, rate_headers
from workspaces.api.idempotency import AnsweredBefore, IdempotentFrame, idempotency_key
from workspaces.api.schema import OperationSchema
from workspaces.models.tenancy import ApiKey, Workspace
from workspaces.services.intake import IdempotencyRequest
from workspaces.services.principals import (
    Principal,
    ScopeSelection,
    select_scopes,
)

REF_CHARACTERS = 200


class UserQuery(QuerySerializer):
    user_id = TextField(
        required=False,
        max_length=REF_CHARACTERS,
        help_text="That end user's memory plus the shared; `*` for everyone's.",
    )


class ApiView(IdempotentFrame):
    """`queries` and `bodies` name the input serializer of each method.

    `bodies_optional` are methods for which nothing at all is as good as `{}`.
    """

    schema = OperationSchema()
    metadata_class = None  # OPTIONS is a method like any other that is not there
    throttle_classes = (KeyRateThrottle,)
    permissions: ClassVar[Mapping[str, str]] = {}
    queries: ClassVar[Mapping[str, type[QuerySerializer]]] = {}
    bodies: ClassVar[Mapping[str, type[serializers.BaseSerializer[Any]]]] = {}
    bodies_optional: ClassVar[tuple[str, ...]] = ()

    @property
    def principal(self) -> Principal:
        return cast(Principal, self.request.user)  # HasKeyPermission lets nobody else in

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        translation.activate("en")  # the language of codes and messages; pages have their own
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.find_owner(**kwargs)
        self.params = self._read_query(request)
        self.begin_keyed(
            request, principal=self.principal, workspace=cast(Workspace | None, request.auth)
        )

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, AnsweredBefore):
            return cast(Response, exc.answer)
        return super().handle_exception(exc)

    def find_owner(self, **kwargs: Any) -> None:
        """What the address names must exist before anything else is looked at."""

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **kwargs: Any
    ) -> Response:
        final = super().finalize_response(request, response, *args, **kwargs)
        final["Cache-Control"] = "no-store"
        for name, value in rate_headers(request).items():
            final[name] = value
        self.end_keyed(final)
        return final

    def _read_query(self, request: Request) -> dict[str, Any]:
        method = "GET" if request.method == "HEAD" else str(request.method)
        given = request.query_params
        for name in given:
            if len(given.getlist(name)) > 1:
                raise refuse("repeated_parameter", "A parameter occurs twice.", field=name)
        flat = given.dict()
        refuse_forbidden(flat)
        return validated(self.queries.get(method, QuerySerializer), flat)

    def read_body(self, request: Request) -> dict[str, Any]:
        """The validated body; remembers the digest of its bytes for idempotency."""
        body = read_json(request)
        self.body_sha256 = body.sha256
        return validated(self.bodies[str(request.method)], body.data)

    def read_optional_body(self, request: Request) -> dict[str, Any]:
        """The same where nothing at all is as good as `{}`."""
        return validated(self.bodies[str(request.method)], read_json(request, optional=True).data)

    def read_no_body(self, request: Request) -> None:
        """For actions that take none; `{}` is as good as nothing."""
        validated(QuerySerializer, read_json(request, optional=True).data)

    def idempotency(self, request: Request) -> IdempotencyRequest | None:
        """After the body was read. Raises RequestRefused for a key that cannot be one."""
        key, key_id = idempotency_key(request), self.principal.key_id
        if key is None or key_id is None:
            return None
        return IdempotencyRequest(
            api_key_id=key_id,
            path=request.path,
            key=key,
            body_sha256=self.body_sha256,
        )


class WorkspaceView(ApiView):
    """A view under /workspaces/{ws}: foreign and absent workspaces end in the same 404."""

    workspace: Workspace

    def find_owner(self, **kwargs: Any) -> None:
        if self.request.auth is None:
            raise NotFound("There is no such workspace.")
        self.workspace = cast(Workspace, self.request.auth)

    @property
    def id_scopes(self) -> Sequence[UUID] | str:
        """For an address that holds a row's id, and for counts.

        A tenant's own key may name any end user, so an id alone is enough for it; a key that is
        bound to an end user sees that one's memory and the shared.
        """
        if self.principal.end_user_id is None:
            return ALL_SCOPES
        return (self.workspace.id, self.principal.end_user_id)

    @property
    def change_scopes(self) -> Sequence[UUID] | str:
        """For actions on one row: a key of one end user reads what is shared, and leaves it."""
        if self.principal.end_user_id is None:
            return ALL_SCOPES
        return (self.principal.end_user_id,)

    @property
    def list_scopes(self) -> Sequence[UUID] | str:
        """For lists without `?user_id=` whose rows lead to memory, such as jobs to their leaves."""
        if self.principal.allows(ApiKey.Permission.MEMORY_ALL_USERS):
            return ALL_SCOPES
        bound = self.principal.end_user_id
        return (self.workspace.id,) if bound is None else (self.workspace.id, bound)

    def selection(self) -> ScopeSelection:
        """For lists and keys, which are ambiguous without an end user: `?user_id=`."""
        return select_scopes(
            self.workspace, principal=self.principal, user_id=self.params.get("user_id")
        )


def validated(kind: type[serializers.BaseSerializer[Any]], data: Any) -> dict[str, Any]:
    serializer = kind(data=data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
