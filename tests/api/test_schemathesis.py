"""Random requests after the OpenAPI document: no answer that the document does not promise.

All checks of schemathesis, on the real application. Ids in addresses are real ones, since behind
an id that does not exist there is only a 404.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import positive_data_acceptance

from holamem.http.openapi import schema_document
from tests.authz.world import Side, make_side

# What can only be had from a former answer: a random one is refused, and that is right.
FROM_AN_ANSWER = ("cursor",)
# Rules between fields, or about what is in memory, which a schema cannot say; the other checks
# hold for these too.
MORE_THAN_A_SCHEMA_SAYS = {
    ("POST", "/events"),  # which fields go with which kind
    ("POST", "/events:batch"),  # events or messages
    ("GET", "/sessions/{session_id}/events"),  # a number beyond the session's last
    ("POST", "/memory/retrieve"),  # times in order
    ("POST", ":merge"),  # an entity that there is
    ("POST", ":move"),
    ("POST", "/integrations"),  # a folder that the operator allows
    ("POST", "/webhooks"),  # an address that may be called
    ("PATCH", "/webhooks/{webhook_id}"),
    ("POST", "/keys"),  # a person of the workspace that is named beside
    ("GET", "/usage"),  # days in order
    ("POST", "/import"),  # an archive
}
JSON = "application/json"
COMPATIBLE = "/api/v1/memory/"  # takes what its model takes
NOT_TO_BE_LOST = {"DELETE /api/v1/workspaces/{ws}": {"ws": "gone"}}


@pytest.fixture(scope="module")
def side(django_db_setup: None) -> Side:
    return make_side()


@pytest.fixture(scope="module")
def schema() -> Any:
    document = json.loads(json.dumps(schema_document(), default=str))
    found = schemathesis.openapi.from_dict(document)
    found.app = get_wsgi_application()
    found.config.generation.allow_x00 = False
    return found


def operations(schema: Any) -> Iterator[Any]:
    for result in schema.get_all_operations():
        yield result.ok()


def findings(operation: Any, side: Side, *, mode: GenerationMode, examples: int) -> list[str]:
    headers = {"Authorization": f"Bearer {side.callers['owner'].token}"}
    places = {**side.ids, **NOT_TO_BE_LOST.get(operation.label, {})}
    left_out = [positive_data_acceptance] if says_less(operation) else []
    found: dict[str, str] = {}

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        fill(case, places)
        answer = case.call(headers=headers)
        try:
            case.validate_response(answer, headers=headers, excluded_checks=left_out)
        except FailureGroup as group:
            for failure in group.exceptions:
                found[failure.title] = told(failure, case, answer)

    run()
    return [f"{operation.label}: {title}: {words}" for title, words in found.items()]


def fill(case: Any, places: dict[str, str]) -> None:
    """What was made wrong on purpose stays as it is."""
    if not is_wrong(case, ParameterLocation.PATH):
        for name in set(case.path_parameters or {}) & set(places):
            case.path_parameters[name] = places[name]
    if not is_wrong(case, ParameterLocation.QUERY):
        for name in FROM_AN_ANSWER:
            (case.query or {}).pop(name, None)
    if case.meta.generation.mode is GenerationMode.POSITIVE and case.media_type == JSON:
        case.body = with_whole_numbers(case.body)  # what is set is held against the schema again
    if case.operation.path.endswith(":decide") and not is_wrong(case, ParameterLocation.BODY):
        fill_decisions(case, places)
    if not is_wrong(case, ParameterLocation.HEADER):
        # The same one would come again with another body, which is refused.
        (case.headers or {}).pop("Idempotency-Key", None)


def with_whole_numbers(part: Any) -> Any:
    """24.0 is a whole number to a schema, and none to us."""
    if isinstance(part, dict):
        return {name: with_whole_numbers(value) for name, value in part.items()}
    if isinstance(part, list):
        return [with_whole_numbers(value) for value in part]
    return int(part) if isinstance(part, float) and part.is_integer() else part


def fill_decisions(case: Any, places: dict[str, str]) -> None:
    """One, on the call that waits: what may be decided on is known from the approval."""
    given = case.body["decisions"][:1] or [{"status": "denied"}]
    case.body["decisions"] = [{**given[0], "tool_call_id": places["tool_call_id"]}]


def is_wrong(case: Any, location: ParameterLocation) -> bool:
    part = case.meta.components.get(location)
    return part is not None and part.mode is GenerationMode.NEGATIVE


def told(failure: Failure, case: Any, answer: Any) -> str:
    sent = f"{case.query!r} {case.body!r}"[:400]
    words = " ".join(failure.message.split())
    return f"{words[:400]} {answer.status_code} {answer.text[:300]} for {sent}"


def says_less(operation: Any) -> bool:
    path, method = operation.path, operation.method.upper()
    named = any(method == m and path.endswith(end) for m, end in MORE_THAN_A_SCHEMA_SAYS)
    return named or path.startswith(COMPATIBLE)


def test_every_operation_keeps_its_word_once(schema: Any, side: Side) -> None:
    found = [
        line
        for operation in operations(schema)
        for line in findings(operation, side, mode=GenerationMode.POSITIVE, examples=1)
    ]
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode), ids=str)
def test_every_operation_keeps_its_word(schema: Any, side: Side, mode: GenerationMode) -> None:
    found = [
        line
        for operation in operations(schema)
        for line in findings(operation, side, mode=mode, examples=6)
    ]
    assert found == []
