"""How the OpenAPI document learns of keys, parameters and bodies."""

import re
from typing import Any
from uuid import UUID

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

PLACES_IN_PATHS = {
    "ws": "Slug of the workspace.",
    "key": "Key of the tree, such as `interaction:alice` or `github:repo-atlas`.",
    "slug": "Slug of the entity, such as `alice`; it never changes.",
    "event_id": "Id of the event.",
    "leaf_id": "Id of the source leaf.",
    "summary_id": "Id of the summary node.",
    "job_id": "Id of the job.",
    "erasure_id": "Id of the erasure, from its receipt.",
    "provider": "Name of the connected source's provider, such as `files`.",
    "account": "Account at the provider.",
    "audit_id": "Id of the audit entry.",
    "gap_id": "Id of the gap.",
    "retrieval_id": "Id of the answer, from `memory/retrieve`.",
}


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "workspaces.api.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "hm_<prefix>_<secret>"}


class OperationSchema(AutoSchema):
    """Takes the parameters and the body of an operation from the view's own tables."""

    def _table(self, name: str) -> dict[str, Any]:
        table: dict[str, Any] = getattr(self.view, name)
        return table

    def get_override_parameters(self) -> list[Any]:
        query = self._table("queries").get(self.method)
        in_query = [] if query is None or not query().fields else [query]
        return [*in_query, *map(_in_path, re.findall(r"{(\w+)}", self.path))]

    def get_request_serializer(self) -> Any:
        return self._table("bodies").get(self.method)


def _in_path(name: str) -> OpenApiParameter:
    kind = UUID if name.endswith("_id") else str
    return OpenApiParameter(name, kind, OpenApiParameter.PATH, description=PLACES_IN_PATHS[name])
