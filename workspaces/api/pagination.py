"""Cursor pages: `{results, next, previous}` with cursors that fit one list of one workspace."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django.core import signing
from rest_framework import serializers
from rest_framework.request import Request

from holamem.http.fields import QueryIntegerField, QuerySerializer, TextField
from holamem.http.problems import refuse
from workspaces.services.listing import HasId, Listed, Slice

DEFAULT_LIMIT = 50
MAX_LIMIT = 100
CURSOR_CHARACTERS = 300

Row = TypeVar("Row", bound=HasId)


class PageQuery(QuerySerializer):
    limit = QueryIntegerField(
        min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT, help_text="Results in one page."
    )
    cursor = TextField(
        required=False, max_length=CURSOR_CHARACTERS, help_text="From a former answer's links."
    )


def link_field() -> serializers.CharField:
    return serializers.CharField(
        allow_null=True, help_text="Address of that page; null when there is none."
    )


def page_of(item: type[serializers.Serializer[Any]], *, name: str) -> type[Any]:
    """The output serializer of a page of `item`, for the OpenAPI document."""
    fields = {
        "results": item(many=True),
        "next": link_field(),
        "previous": link_field(),
    }
    return type(name, (serializers.Serializer,), fields)


def wanted_slice(request: Request, *, params: Mapping[str, Any], owner: UUID) -> Slice:
    """`owner` is the workspace (or tenant). Raises RequestRefused for a cursor of another list."""
    cursor = params.get("cursor")
    if cursor is None:
        return Slice(limit=params["limit"])
    try:
        direction, row_id = signing.loads(cursor, salt=_salt(request, owner=owner))
        return Slice(limit=params["limit"], after=UUID(row_id), backwards=direction == "p")
    except signing.BadSignature as error:
        raise refuse("invalid_cursor", "The cursor is not of this list.", field="cursor") from error


def page_answer(
    request: Request,
    *,
    listed: Listed[Row],
    owner: UUID,
    show: Callable[[Row], dict[str, Any]],
) -> dict[str, Any]:
    rows = listed.rows
    following = rows[-1].id if rows and listed.has_next else None
    before = rows[0].id if rows and listed.has_previous else None
    return {
        "results": [show(row) for row in rows],
        "next": _link(request, direction="n", row_id=following, owner=owner),
        "previous": _link(request, direction="p", row_id=before, owner=owner),
    }


def _link(request: Request, *, direction: str, row_id: UUID | None, owner: UUID) -> str | None:
    if row_id is None:
        return None
    cursor = signing.dumps([direction, str(row_id)], salt=_salt(request, owner=owner))
    query = {**request.query_params.dict(), "cursor": cursor}
    return request.build_absolute_uri(f"{request.path}?{urlencode(query)}")


def _salt(request: Request, *, owner: UUID) -> str:
    """Binds a cursor to its workspace, address and filters; only the page's size may change."""
    filters = {
        name: value
        for name, value in sorted(request.query_params.items())
        if name not in ("cursor", "limit")
    }
    return f"cursor:{owner}:{request.path}?{urlencode(filters)}"
