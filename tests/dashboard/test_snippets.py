"""What a page says to copy and run names a route that exists, with the method that it takes."""

import re
from uuid import uuid4

import pytest
from django.urls import resolve

from holamem.environment import PROJECT_DIR

TEMPLATES = PROJECT_DIR / "templates" / "dashboard"
CURL = re.compile(r"curl (?:-X (?P<method>[A-Z]+) )?\S*?.{0,80}?(?P<address>/api/v1/[^\s\"'\\<]+)")
VALUE = re.compile(r"\{\{.*?\}\}")


def snippets() -> list[tuple[str, str, str]]:
    found = []
    for path in sorted(TEMPLATES.glob("*.html")):
        # A value of the page stands for a slug, a shell variable for an id.
        text = re.sub(r"\$[A-Z]+_ID", str(uuid4()), VALUE.sub("notes", path.read_text()))
        for match in CURL.finditer(text):
            found.append((path.name, match["method"] or "GET", match["address"]))
    return found


@pytest.mark.parametrize(
    ("page", "method", "address"), [pytest.param(*one, id=one[0]) for one in snippets()]
)
def test_a_snippet_names_a_route_and_its_method(page: str, method: str, address: str) -> None:
    view = resolve(address).func
    assert hasattr(getattr(view, "cls", None), method.lower()), f"{page}: {method} {address}"


def test_every_page_with_a_snippet_is_looked_at() -> None:
    with_curl = {path.name for path in TEMPLATES.glob("*.html") if "curl " in path.read_text()}
    ours = {name for name in with_curl if "/api/v1/" in (TEMPLATES / name).read_text()}
    assert len(ours) >= 7
    assert {name for name, _, _ in snippets()} == ours
