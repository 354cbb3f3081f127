"""Folders of markdown files in tests, with times that are long settled."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holamem.environment import get_environment
from workspaces.connectors.base import Page, Scan
from workspaces.connectors.markdown_folder import MarkdownFolder

MAY = datetime(2026, 5, 20, 9, 30, tzinfo=UTC)


def allow(monkeypatch: pytest.MonkeyPatch, roots: str) -> None:
    monkeypatch.setenv("HOLAMEM_CONNECTOR_ROOTS", roots)
    get_environment.cache_clear()


def write(folder: Path, name: str, text: str | bytes, *, at: datetime = MAY) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def scan(folder: Path, *, known: dict[str, str] | None = None, **values: object) -> list[Page]:
    given = {"settings": {"path": str(folder)}, "tenant": "t", "zone": UTC, "known": known or {}}
    return list(MarkdownFolder().fetch(Scan(**{**given, **values})))  # type: ignore[arg-type]


def texts(pages: list[Page]) -> dict[str, str]:
    return {item.external_id: item.text for page in pages for item in page.items}


def reasons(pages: list[Page]) -> dict[str, str]:
    return {failed.external_id: failed.reason for page in pages for failed in page.failures}


def marks(pages: list[Page]) -> dict[str, str]:
    return {item.external_id: item.version for page in pages for item in page.items}
