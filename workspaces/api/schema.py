"""How the OpenAPI document learns of keys, query parameters and bodies."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


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
        return [] if query is None or not query().fields else [query]

    def get_request_serializer(self) -> Any:
        return self._table("bodies").get(self.method)
