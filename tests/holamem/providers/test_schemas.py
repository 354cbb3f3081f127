from typing import Annotated, Literal

from pydantic import BaseModel, Field

from holamem.providers.schemas import is_closed, strict_schema


class Inner(BaseModel):
    title: str = Field(default="x", max_length=5, description="shown")


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Outer(BaseModel):
    default: int = 3
    inner: Inner = Field(default_factory=Inner, description="beside a reference")
    items: list[Inner] = Field(default_factory=list, max_length=4)
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Open(BaseModel):
    facts: dict[str, str]


def test_every_object_is_closed_with_all_properties_required() -> None:
    schema = strict_schema(Outer)

    assert schema["required"] == ["default", "inner", "items", "pet"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Inner"]["required"] == ["title"]
    assert is_closed(schema)


def test_properties_named_like_keywords_stay() -> None:
    schema = strict_schema(Outer)

    assert schema["properties"]["default"] == {"type": "integer"}
    inner = schema["$defs"]["Inner"]["properties"]["title"]
    assert inner == {"type": "string", "maxLength": 5, "description": "shown"}


def test_references_stand_alone_and_choices_are_any_of() -> None:
    schema = strict_schema(Outer)

    assert schema["properties"]["inner"] == {"$ref": "#/$defs/Inner"}
    assert schema["properties"]["pet"] == {
        "anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]
    }


def test_bounds_can_be_left_out() -> None:
    schema = strict_schema(Outer, bounds=False)

    assert "maxItems" not in schema["properties"]["items"]
    assert "maxLength" not in schema["$defs"]["Inner"]["properties"]["title"]


def test_a_free_form_mapping_is_not_closed() -> None:
    schema = strict_schema(Open)

    assert schema["properties"]["facts"]["additionalProperties"] == {"type": "string"}
    assert not is_closed(schema)
