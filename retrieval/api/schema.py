"""The request definitions, which are pydantic models, as parts of the OpenAPI document."""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import Direction, OpenApiParameter
from pydantic import BaseModel

REFERENCE = "#/components/schemas/{model}"


class ModelExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """A model's own JSON schema is the schema of the body."""

    target_class = "pydantic.BaseModel"
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        schema: dict[str, Any] = self.target.model_json_schema(ref_template=REFERENCE)
        for name, part in schema.pop("$defs", {}).items():
            auto_schema.registry.register_on_missing(
                ResolvedComponent(  # type: ignore[no-untyped-call]
                    name=name, type=ResolvedComponent.SCHEMA, object=name, schema=part
                )
            )
        return schema


def query_parameters(model: type[BaseModel]) -> list[OpenApiParameter]:
    """The fields of a flat model as parameters of a query string."""
    schema = model.model_json_schema()
    required = schema.get("required", [])
    return [
        OpenApiParameter(
            name,
            {key: value for key, value in part.items() if key not in ("title", "description")},
            required=name in required,
            description=part.get("description", ""),
        )
        for name, part in schema["properties"].items()
    ]
