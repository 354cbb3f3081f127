"""A folder that may be connected."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holamem.environment import get_environment
from tests.workspaces.connectors.folders import allow


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    allow(monkeypatch, str(tmp_path))
    notes = tmp_path / "notes"
    notes.mkdir()
    yield notes
    monkeypatch.undo()
    get_environment.cache_clear()
