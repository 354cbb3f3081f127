from collections.abc import Iterator
from pathlib import Path

import pytest

from holamem.environment import get_environment
from tests.workspaces.connectors.folders import allow
from tests.workspaces.scripted_model import ScriptedModel, scripted_model


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    with scripted_model(monkeypatch) as model:
        yield model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    allow(monkeypatch, str(tmp_path))
    notes = tmp_path / "notes"
    notes.mkdir()
    yield notes
    monkeypatch.undo()
    get_environment.cache_clear()
