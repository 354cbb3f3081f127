from collections.abc import Iterator

import pytest

from agents.services import token_counts
from agents.services.token_counts import corrected, count_messages, learn


@pytest.fixture(autouse=True)
def _knows_nothing() -> Iterator[None]:
    token_counts.forget()
    yield
    token_counts.forget()


def test_what_the_service_reports_corrects_the_next_estimate() -> None:
    assert corrected(1_000, model="m") == 1_000
    learn(model="m", counted=1_000, reported=1_500)
    assert corrected(1_000, model="m") == 1_500
    assert corrected(1_000, model="another") == 1_000
    learn(model="m", counted=1_000, reported=500)
    assert 1_000 < corrected(1_000, model="m") < 1_500


def test_an_absurd_report_is_bounded_and_a_tiny_request_teaches_nothing() -> None:
    learn(model="m", counted=50, reported=5_000)
    assert corrected(1_000, model="m") == 1_000
    learn(model="m", counted=1_000, reported=90_000)
    assert corrected(1_000, model="m") == 3_000


def test_calls_and_tools_count() -> None:
    plain = count_messages([{"role": "assistant", "content": "x"}])
    call = {"id": "1", "function": {"name": "ping", "arguments": "{}"}}
    with_call = count_messages([{"role": "assistant", "content": "x", "tool_calls": [call]}])
    assert plain < with_call < count_messages([{"content": "x"}], tools=[call] * 5)
