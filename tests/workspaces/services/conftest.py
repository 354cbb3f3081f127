from collections.abc import Iterator

import pytest

from tests.workspaces.scripted_model import ScriptedModel, scripted_model


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    with scripted_model(monkeypatch) as model:
        yield model
