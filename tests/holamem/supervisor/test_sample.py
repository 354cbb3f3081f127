"""The sample is an extra: asked for, into an empty memory only, and never a reason to stop."""

import pytest

from holamem.sample.loader import SampleFailed
from holamem.supervisor import sample, watching
from holamem.supervisor.installation import FirstCredentials
from holamem.supervisor.sample import fill_with_sample, show_sample_questions
from holamem.supervisor.watching import Watcher

CREDENTIALS = FirstCredentials("acme", "notes", "key", "admin", "password")


class FakeMachine:
    url = "http://127.0.0.1:1"

    def require_alive(self) -> None: ...


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def watcher(said: list[str], monkeypatch: pytest.MonkeyPatch) -> Watcher:
    monkeypatch.setattr(watching, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(sample, "memory_is_empty", lambda credentials: True)
    return Watcher(FakeMachine(), say=said.append)  # type: ignore[arg-type]


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """What the loader was called with."""
    calls: list[dict[str, object]] = []
    monkeypatch.setattr(sample, "load_sample", lambda **values: calls.append(values))
    return calls


def test_an_empty_memory_is_filled_with_what_was_asked_for(
    watcher: Watcher, loads: list[dict[str, object]]
) -> None:
    assert fill_with_sample(watcher, CREDENTIALS, languages=["zh"])
    assert loads == [
        {"url": FakeMachine.url, "api_key": "key", "workspace": "notes", "languages": ["zh"]}
    ]


def test_nothing_is_loaded_unasked(watcher: Watcher, loads: list[dict[str, object]]) -> None:
    assert not fill_with_sample(watcher, CREDENTIALS, languages=[])
    assert loads == []


def test_a_memory_with_events_is_left_alone(
    watcher: Watcher, loads: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "memory_is_empty", lambda credentials: False)
    assert not fill_with_sample(watcher, CREDENTIALS, languages=["en"])
    assert loads == []


def test_a_sample_that_fails_is_said_and_no_more(
    watcher: Watcher, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**values: object) -> None:
        raise SampleFailed("the worker did not answer")

    monkeypatch.setattr(sample, "load_sample", fail)
    assert not fill_with_sample(watcher, CREDENTIALS, languages=["en"])
    assert said[-1] == "The sample did not work: the worker did not answer"


def test_the_questions_are_shown_with_their_answers(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sample, "show_questions", lambda **values: f"Asked {values['languages']}")
    show_sample_questions(watcher, CREDENTIALS, languages=["en", "zh"])
    assert capsys.readouterr().out == "Asked ['en', 'zh']\n"
