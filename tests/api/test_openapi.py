"""The OpenAPI document: valid, complete, and the one that is checked in."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.conf import settings as django_settings
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema

from holamem.environment import PROJECT_DIR
from holamem.http.openapi import schema_document

CHECKED_IN = PROJECT_DIR / "holamem" / "openapi.yaml"
COMMAND = "python manage.py spectacular --validate --fail-on-warn --file holamem/openapi.yaml"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    GENERATOR_STATS.reset()
    schema_document.cache_clear()
    made = schema_document()
    assert not GENERATOR_STATS, "the generator warned"
    return made


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


@pytest.mark.slow
def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    validate_schema(document)


def test_the_checked_in_document_is_the_present_one(document: dict[str, Any]) -> None:
    kept = yaml.load(CHECKED_IN.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    assert kept == plain(document), f"the API changed: {COMMAND}"


def plain(document: dict[str, Any]) -> Any:
    """As it looks after a trip through JSON: strings for lazy ones, lists for tuples."""
    return json.loads(json.dumps(document, default=str))


def test_every_operation_is_described_with_its_problems(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        assert operation["summary"], name
        assert operation["description"], name
        answers = operation["responses"]
        assert any(status.startswith("2") for status in answers), name
        for status in ("400", "401", "403", "429", "503"):
            assert "application/problem+json" in answers[status]["content"], (name, status)
        if "{ws}" in name:
            assert "404" in answers, name
        if operation.get("requestBody"):
            assert {"413", "415"} <= set(answers), name


def test_every_parameter_is_described(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        for parameter in operation.get("parameters", []):
            assert parameter["description"], (name, parameter["name"])


def test_every_operation_needs_a_key(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        assert operation["security"] == [{"apiKey": []}], name


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/openapi.json", "json"),
        ("/api/v1/schema", "json"),
        ("/api/v1/schema?format=json", "json"),
        ("/api/v1/schema?format=yaml", "yaml"),
    ],
)
def test_the_document_is_served_without_a_key(path: str, kind: str) -> None:
    response = Client().get(path)
    assert response.status_code == 200
    assert kind in response["Content-Type"] or "openapi" in response["Content-Type"]
    body = (
        response.json() if kind == "json" else yaml.load(response.content, Loader=yaml.CSafeLoader)
    )
    assert "/api/v1/workspaces/{ws}/events" in body["paths"]


def test_the_docs_page_loads_nothing_from_elsewhere() -> None:
    page = Client().get("/api/v1/docs")
    script = Client().get("/api/v1/docs?script=")
    assert page.status_code == script.status_code == 200
    text = page.content.decode()
    assert "http://" not in text
    assert "https://" not in text
    assert django_settings.STATIC_URL + "drf_spectacular_sidecar/swagger-ui-dist" in text
    assert "unsafe-inline" not in page["Content-Security-Policy"]
