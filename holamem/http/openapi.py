"""What every operation of the OpenAPI document has in common, and the document itself."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer2, OpenApiYamlRenderer2
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from holamem.http.problems import CONTENT_TYPE

Operation = TypeVar("Operation", bound=Callable[..., Any])

REASONS = {
    400: "The request is not valid; `errors` names each field.",
    401: "The API key is missing, unknown, expired or revoked.",
    403: "The key lacks the permission for this, or its tenant is suspended.",
    404: "Absent, or not this key's; the two are never told apart.",
    409: "In conflict with the present state, or the first request is still running.",
    410: "It has expired, and nothing can be done about it any more.",
    413: "The body, or the text of an event, is too large.",
    415: "The content type is not application/json.",
    422: "The Idempotency-Key was used with another body.",
    429: "Too many requests; `Retry-After` says when to come back.",
    503: "The database, the body store or a model service does not answer.",
    507: "The disk is full.",
}
ALWAYS = (400, 401, 403, 429, 503)
WRITES = ("post", "put", "patch", "delete")
KEY_PROBLEMS = (409, 422)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[!-~]([ -~]*[!-~])?$",
    },
    OpenApiParameter.HEADER,
    description=(
        "1 to 255 printable ASCII characters. The same key with the same body gives the first "
        "answer again, with `Idempotent-Replayed: true`, for 24 hours."
    ),
)


IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="The `ETag` of a former answer: 304 without a body when nothing has changed.",
)


class FieldProblemSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="Path such as `events[3].text`; empty: the request.")
    code = serializers.CharField(help_text="Stable, for programs.")
    message = serializers.CharField(help_text="For people.")


class ProblemSerializer(serializers.Serializer[Any]):
    """Problem details (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    instance = serializers.CharField()
    errors = FieldProblemSerializer(many=True)  # type: ignore[assignment]  # DRF takes it out


def operation(
    operation_id: str,
    *,
    summary: str,
    answers: Mapping[Any, Any],
    problems: Sequence[int] = (404,),
    takes_key: bool = True,
    **extra: Any,
) -> Callable[[Operation], Operation]:
    """`extend_schema` with the problem answers that every operation may give.

    `answers` are shapes by status, or by status and type of content. Writes also have those of
    the Idempotency-Key; `takes_key` is false for a question by POST.
    """
    responses: dict[Any, Any] = {
        key: OpenApiResponse(shape, description=_success(key)) for key, shape in answers.items()
    }
    tags = [operation_id.partition("_")[0]]

    def described(method: Operation) -> Operation:
        keyed = KEY_PROBLEMS if takes_key and method.__name__ in WRITES else ()
        for status in sorted({*ALWAYS, *problems, *keyed}):
            responses[(status, CONTENT_TYPE)] = OpenApiResponse(
                ProblemSerializer, description=REASONS[status]
            )
        decorate = extend_schema(
            operation_id=operation_id, summary=summary, responses=responses, tags=tags, **extra
        )
        return decorate(method)

    return described


def _success(key: int | tuple[int, str]) -> str:
    status = key if isinstance(key, int) else key[0]
    return {200: "OK", 201: "Created", 202: "Accepted", 204: "Done", 304: "Not modified"}[status]


def without_marks(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A post-processing hook: takes out what the generator notes for its own enum hook."""
    waiting: list[Any] = [result]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            part.pop("x-spec-enum-id", None)
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return result


_building = Lock()


@cache
def schema_document() -> dict[str, Any]:
    """The OpenAPI document; built once a process, because it takes about a second."""
    with _building:  # the generator loads its extensions on first use, which threads break
        generator = SchemaGenerator()  # type: ignore[no-untyped-call]
        document: dict[str, Any] = generator.get_schema(  # type: ignore[no-untyped-call]
            request=None, public=True
        )
    return document


class JsonSchemaRenderer(OpenApiJsonRenderer2):
    format = "json"


class YamlSchemaRenderer(OpenApiYamlRenderer2):
    format = "yaml"


class SchemaView(APIView):
    """The document as JSON, or with `?format=yaml` as YAML. Needs no key."""

    metadata_class = None
    authentication_classes = ()
    permission_classes = (AllowAny,)
    renderer_classes = (JsonSchemaRenderer, YamlSchemaRenderer)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        return Response(schema_document())


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI from our own files; its script is a separate request, for the page's policy."""

    metadata_class = None
    authentication_classes = ()
    url_name = "api-schema"
