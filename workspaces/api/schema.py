"""How the OpenAPI document learns of keys, parameters and bodies."""

import re
from typing import Any
from uuid import UUID

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from holamem.http.fields import NameField, StrictSerializer, TextField
from holamem.http.openapi import IDEMPOTENCY_KEY
from workspaces.api.idempotency import WRITES

PLACES_IN_PATHS = {
    "ws": "Slug of the workspace.",
    "ref": "The caller's own id of the end user.",
    "member_id": "Id of the membership.",
    "invitation_id": "Id of the invitation.",
    "key_id": "Id of the API key.",
    "key": "Key of the tree, such as `interaction:alice` or `github:repo-atlas`.",
    "slug": "Slug of the entity, such as `alice`; it never changes.",
    "event_id": "Id of the event.",
    "leaf_id": "Id of the source leaf.",
    "summary_id": "Id of the summary node.",
    "job_id": "Id of the job.",
    "erasure_id": "Id of the erasure, from its receipt.",
    "export_id": "Id of the export.",
    "import_id": "Id of the import.",
    "provider": "Name of the connected source's provider, such as `files`.",
    "account": "Account at the provider.",
    "audit_id": "Id of the audit entry.",
    "gap_id": "Id of the gap.",
    "webhook_id": "Id of the webhook.",
    "retrieval_id": "Id of the answer, from `memory/retrieve`.",
    "agent": "Slug of the agent, such as `default`; it never changes.",
    "session_id": "Id of the session.",
    "message_id": "Id of the message.",
    "run_id": "Id of the run.",
    "approval_id": "Id of the approval.",
    "scope": "`workspace`, or `user` with `?user_id=`.",
    "name": "Name of the topic, or `index`.",
}


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "workspaces.api.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "hm_<prefix>_<secret>"}


# At least one character that is seen; names also hold nothing that controls.
_SEEN = r"[^\s\u0000-\u001f\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
_PLAIN = r"[^\u0000-\u001f\u007f-\u009f\u2028\u202a-\u202e\u2066-\u2069]"
_NAME = f"^{_PLAIN}*{_SEEN}{_PLAIN}*$"


class OperationSchema(AutoSchema):
    """Takes the parameters and the body of an operation from the view's own tables."""

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> Any:
        schema = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if isinstance(serializer, StrictSerializer):
            schema["additionalProperties"] = False
        return schema

    def _map_serializer_field(
        self, field: Any, direction: Any, bypass_extensions: bool = False
    ) -> Any:
        schema = super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]
        if isinstance(field, TextField) and not field.blank_allowed and "enum" not in schema:
            pattern = _NAME if isinstance(field, NameField) else _SEEN
            return {**schema, "pattern": field.pattern or pattern}
        return schema

    def _get_request_body(self, direction: Any = "request") -> Any:
        """A body is required wherever the view does not say that it may be left out."""
        body = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        if body and self.method not in getattr(self.view, "bodies_optional", ()):
            body["required"] = True
        elif body:
            body.pop("required", None)
        return body

    def _table(self, name: str) -> dict[str, Any]:
        table: dict[str, Any] = getattr(self.view, name)
        return table

    def get_override_parameters(self) -> list[Any]:
        query = self._table("queries").get(self.method)
        in_query = [] if query is None or not query().fields else [query]
        keeps_answers = getattr(self.view, "keeps_answers", False)
        key = [IDEMPOTENCY_KEY] if keeps_answers and self.method in WRITES else []
        return [*in_query, *key, *map(_in_path, re.findall(r"{(\w+)}", self.path))]

    def get_request_serializer(self) -> Any:
        return self._table("bodies").get(self.method)


def _in_path(name: str) -> OpenApiParameter:
    kind = UUID if name.endswith("_id") else str
    return OpenApiParameter(name, kind, OpenApiParameter.PATH, description=PLACES_IN_PATHS[name])
