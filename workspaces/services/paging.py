"""Numbered pages of a queryset, for people; programs page by cursor."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

PAGE_SIZE = 25
MAX_PAGE = 4_000  # an offset beyond 100,000 rows is a typing error, not a wish

Row = TypeVar("Row")
Source = TypeVar("Source", bound=Model)
Target = TypeVar("Target")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """`number` counts from 1; `has_next` is known without counting all rows."""

    rows: list[Row]
    number: int
    has_next: bool

    @property
    def has_previous(self) -> bool:
        return self.number > 1

    @property
    def next_number(self) -> int:
        return self.number + 1

    @property
    def previous_number(self) -> int:
        return self.number - 1

    def map(self, convert: Callable[[list[Row]], list[Target]]) -> "Page[Target]":
        return Page(convert(self.rows), self.number, self.has_next)


def read_page(rows: QuerySet[Source], *, number: int, size: int = PAGE_SIZE) -> Page[Source]:
    """One query; a number out of range is moved to the nearest one that makes sense."""
    number = min(max(number, 1), MAX_PAGE)
    start = (number - 1) * size
    found = list(rows[start : start + size + 1])
    return Page(found[:size], number, len(found) > size)
