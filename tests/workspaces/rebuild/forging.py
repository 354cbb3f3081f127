"""Body files as somebody might change them."""

from pathlib import Path
from typing import Any

import yaml

from workspaces.services.front_matter import with_checksum


def body_of(folder: Path, text: str) -> Path:
    """The one leaf file below the folder that holds exactly this text."""
    found = [path for path in folder.rglob("leaves/*.md") if path.read_text().endswith(f"\n{text}")]
    assert len(found) == 1
    return found[0]


def head_of(path: Path) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load(path.read_text().split("---\n", 2)[1])
    return values


def forged(path: Path, changes: dict[str, object], *, text: str | None = None) -> str:
    """The file with another head or text, and the checksum that whoever forges it would make."""
    markdown = path.read_text().split("---\n", 2)[2] if text is None else text
    values = head_of(path) | changes
    del values["checksum"]
    head = yaml.safe_dump(with_checksum(values, markdown=markdown), allow_unicode=True)
    return f"---\n{head}---\n{markdown}"
