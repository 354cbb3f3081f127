"""The one definition of what may be asked; REST and tool schemas are generated from it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from holamem.clock import is_known_zone
from holamem.errors import InvalidInput
from holamem.text.normalise import find_forbidden, is_blank

QUERY_CHARACTERS = 4_000
DEFAULT_RESULTS = 12
MAX_RESULTS = 50
DEFAULT_TOKENS = 6_000
LIST_ITEMS = 100

CategoryName = Literal["interaction", "integration"]
ModeName = Literal["auto", "broad_summary", "exact_evidence"]

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9990, 1, 1, tzinfo=UTC)


def _within_calendar(value: datetime) -> datetime:
    """Far dates overflow the arithmetic of ranges and of time zones."""
    if not EARLIEST <= value < LATEST:
        raise ValueError("must lie between the years 1970 and 9989")
    return value


def _clean_text(value: str) -> str:
    """PostgreSQL stores neither a null character nor a lone surrogate."""
    forbidden = find_forbidden(value)
    if forbidden is not None:
        raise ValueError(f"must not contain a {forbidden.replace('_', ' ')}")
    return value


Text = Annotated[str, AfterValidator(_clean_text)]
Moment = Annotated[AwareDatetime, AfterValidator(_within_calendar)]
Reference = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_clean_text)]
References = Annotated[list[Reference], Field(max_length=LIST_ITEMS)]


class TimeRangeRequest(BaseModel):
    """A span of time; either end may be open."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    start: Moment | None = Field(
        default=None, alias="from", description="Earliest moment, with a UTC offset."
    )
    end: Moment | None = Field(
        default=None, alias="to", description="Latest moment, with a UTC offset."
    )

    @model_validator(mode="after")
    def is_ordered(self) -> "TimeRangeRequest":
        if self.start is not None and self.end is not None and self.end < self.start:
            raise ValueError("'to' must not be before 'from'")
        return self


class RetrieveRequest(BaseModel):
    """One question to memory. An empty list means nothing, never everything."""

    model_config = ConfigDict(extra="forbid")

    query: Text = Field(
        min_length=1,
        max_length=QUERY_CHARACTERS,
        description="The question, in the words of the asker; may hold several questions.",
    )
    categories: list[CategoryName] | None = Field(
        default=None, max_length=LIST_ITEMS, description="Search these ownership domains only."
    )
    category: CategoryName | None = Field(default=None, description="One category.")
    tree_ids: References | None = Field(
        default=None, description="Search these trees only; a tree's id or its key."
    )
    tree_id: Reference | None = Field(default=None, description="One tree, by id or by key.")
    entities: References | None = Field(
        default=None, description="Leaves about one of these entities, by slug, name or alias."
    )
    labels: References | None = Field(
        default=None, description="Nodes that carry one of these labels."
    )
    time_range: TimeRangeRequest | None = Field(
        default=None, description="Leaves observed in it and summaries that overlap it."
    )
    as_of: Moment | None = Field(
        default=None, description="Read memory as it stood at that moment."
    )
    now: Moment | None = Field(
        default=None, description="What 'yesterday' counts from; the clock when absent."
    )
    timezone: str | None = Field(
        default=None,
        max_length=64,
        description="Zone of calendar words, such as Asia/Shanghai; else the workspace's zone.",
    )
    mode: ModeName = Field(
        default="auto", description="Summaries first, exact leaves first, or decide by question."
    )
    include_leaves: bool = Field(default=True, description="Return source leaves.")
    include_summaries: bool = Field(default=True, description="Return summary nodes.")
    include_superseded: bool = Field(
        default=False, description="Return leaves that newer ones took the place of as well."
    )
    user_id: Text | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="That end user's memory plus the shared; '*' asks for everyone's.",
    )
    max_results: int = Field(
        default=DEFAULT_RESULTS, ge=1, le=MAX_RESULTS, strict=True, description="Evidence at most."
    )
    token_budget: int = Field(
        default=DEFAULT_TOKENS,
        ge=50,
        le=64_000,
        strict=True,
        description="Tokens of all excerpts together, at most.",
    )
    reasoning: Literal["auto", "off"] = Field(
        default="auto", description="Whether a configured model may write the pack."
    )
    explain: bool = Field(
        default=False, description="Add stage timings and why candidates were kept or dropped."
    )

    @field_validator("query")
    @classmethod
    def is_not_blank(cls, value: str) -> str:
        if is_blank(value):
            raise ValueError("must not be blank")
        return value

    @field_validator("timezone")
    @classmethod
    def is_a_known_zone(cls, value: str | None) -> str | None:
        if value is not None and not is_known_zone(value):
            raise ValueError("is not a known time zone")
        return value

    @model_validator(mode="after")
    def names_each_filter_once(self) -> "RetrieveRequest":
        for one, many in (("category", "categories"), ("tree_id", "tree_ids")):
            if getattr(self, one) is not None and getattr(self, many) is not None:
                raise ValueError(f"give {one} or {many}, not both")
        return self

    @property
    def category_filter(self) -> list[str] | None:
        return [self.category] if self.category is not None else _strings(self.categories)

    @property
    def tree_filter(self) -> list[str] | None:
        return [self.tree_id] if self.tree_id is not None else self.tree_ids


class BrowseRequest(BaseModel):
    """One place in the tree: a logical path, or a node."""

    model_config = ConfigDict(extra="forbid")

    path: Text | None = Field(
        default=None,
        max_length=400,
        description="category, category/tree key, or category/tree key/level; never a file path.",
    )
    node_id: UUID | None = Field(default=None, description="A leaf, a summary node or a tree.")
    depth: int = Field(default=1, ge=1, le=3, description="Levels of children to show.")
    cursor: Text | None = Field(default=None, max_length=600, description="From a former answer.")
    limit: int = Field(default=50, ge=1, le=100, description="Children of the node, at most.")
    user_id: Text | None = Field(
        default=None, min_length=1, max_length=200, description="That end user's memory as well."
    )

    @model_validator(mode="after")
    def names_one_place(self) -> "BrowseRequest":
        if self.path is not None and self.node_id is not None:
            raise ValueError("give path or node_id, not both")
        return self


Request = TypeVar("Request", bound=BaseModel)


def parse_request(data: Mapping[str, Any]) -> RetrieveRequest:
    """Raises InvalidInput that names the first wrong field."""
    return _parse(RetrieveRequest, data)


def parse_browse(data: Mapping[str, Any]) -> BrowseRequest:
    """Raises InvalidInput that names the first wrong field."""
    return _parse(BrowseRequest, data)


def _parse(model: type[Request], data: Mapping[str, Any]) -> Request:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise invalid_input(error) from error


def invalid_input(error: ValidationError) -> InvalidInput:
    """The first complaint as ours; `detail["errors"]` has all, none repeats what was sent."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    problems = [
        {
            "field": ".".join(str(part) for part in problem["loc"]) or "body",
            "code": problem["type"],
            "message": problem["msg"].removeprefix("Value error, "),
        }
        for problem in found
    ]
    first = problems[0]
    return InvalidInput(
        f"{first['field']}: {first['message']}.", field=first["field"], detail={"errors": problems}
    )


def _strings(values: list[CategoryName] | None) -> list[str] | None:
    return None if values is None else [str(value) for value in values]
