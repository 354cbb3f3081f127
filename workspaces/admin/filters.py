"""Filters of lists whose cost does not grow with the list."""

from typing import Any

from django.contrib.admin import AllValuesFieldListFilter
from django.db.models import CharField, Field
from django.http import HttpRequest

NEWEST = 1_000


class RecentValuesFilter(AllValuesFieldListFilter):
    """The values of the newest rows, and the chosen one: all values are a walk through the table."""

    lookup_choices: Any

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, *rest: Any, **named: Any
    ) -> None:
        super().__init__(field, request, params, *rest, **named)
        model_admin = rest[1]
        newest = model_admin.get_queryset(request).order_by("-pk")[:NEWEST]
        values = {value for value in newest.values_list(field.name, flat=True) if value is not None}
        values.update(self.lookup_val or ())
        self.lookup_choices = sorted(values)


def lists_values(field: "Field[Any, Any]") -> bool:
    """A word without declared choices, of which Django would look for all values."""
    return isinstance(field, CharField) and not field.choices
