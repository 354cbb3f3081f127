from collections.abc import Iterator

import pytest

from tests.agents.talking import model_server
from tests.openai_server import OpenAIServer


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with model_server(monkeypatch) as server:
        yield server
