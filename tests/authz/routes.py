"""The routes of the URL resolver, and the matrix that has to name each of them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.urls import URLPattern, URLResolver, get_resolver

MATRIX_FILE = Path(__file__).with_name("matrix.yaml")
NOT_DESCENDED = "admin/"  # Django's own, behind one door
NO_ROUTES = {"api(?:/.*)?"}  # what ends in the API's 404
REGEX_MARKS = re.compile(r"^\^|/\?\$$|\$$")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")
PART = re.compile(r"<\w+:(\w+)>")


@dataclass(frozen=True)
class Case:
    method: str
    route: str
    kind: str

    def __str__(self) -> str:
        return f"{self.method} /{self.route}"

    @property
    def parts(self) -> list[str]:
        return PART.findall(self.route)

    @property
    def is_page(self) -> bool:
        return self.kind.startswith(("page-", "signed-in")) or self.kind == "public"

    def address(self, values: Mapping[str, object]) -> str:
        return "/" + PART.sub(lambda part: str(values[part.group(1)]), self.route)


@cache
def matrix() -> tuple[Case, ...]:
    rows: dict[str, dict[str, str]] = yaml.safe_load(MATRIX_FILE.read_text())
    return tuple(
        Case(method, route, kind)
        for route, methods in rows.items()
        for method, kind in methods.items()
    )


def cases(*kinds: str) -> list[Case]:
    return [case for case in matrix() if case.kind.startswith(kinds)]


def resolver_routes(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each address with its view; an address that is mounted twice comes twice."""
    for pattern in patterns or get_resolver().url_patterns:
        address = prefix + REGEX_MARKS.sub("", str(pattern.pattern))
        if address == NOT_DESCENDED:
            yield address, None
        elif isinstance(pattern, URLResolver):
            yield from resolver_routes(pattern.url_patterns, address)
        elif isinstance(pattern, URLPattern) and address not in NO_ROUTES:
            yield address, pattern.callback


def methods_of(view: Any) -> set[str] | None:
    """Of a class; None for a function, whose methods only requests can tell."""
    kind = getattr(view, "cls", None)
    if kind is None:
        return None
    return {
        name.upper() for name in ("get", "post", "put", "patch", "delete") if hasattr(kind, name)
    }
