from collections.abc import Iterator

import pytest

from holamem.providers import registry
from tests.openai_server import OpenAIServer


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A scripted server; what was learnt about services is forgotten before and after."""
    registry.reset()
    with OpenAIServer() as running:
        yield running
    registry.reset()


@pytest.fixture
def pauses() -> list[float]:
    """Collects the waits between retries in place of waiting."""
    return []
