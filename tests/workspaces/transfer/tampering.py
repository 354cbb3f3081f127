"""Archives as a stranger may make them: each is whole by its own manifest, unless a test says so."""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

Members = dict[str, bytes]
JSON = dict[str, Any]


def members_of(archive: Path) -> Members:
    with zipfile.ZipFile(archive) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def packed_again(members: Members, folder: Path, *, manifest: JSON | None = None) -> Path:
    """With sizes, hashes and counts as they are now; `manifest` overrides what it says."""
    told: JSON = json.loads(members["manifest.json"])
    told["members"] = {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in members.items()
        if name != "manifest.json"
    }
    for table in told["tables"]:
        table["rows"] = members[f"tables/{table['name']}"].count(b"\n")
    told |= manifest or {}
    path = folder / f"{uuid4().hex}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, json.dumps(told) if name == "manifest.json" else data)
    return path


def with_rows(
    archive: Path, folder: Path, *, table: str, change: Callable[[JSON], JSON | None]
) -> Path:
    """Every row of a table changed, or left out; the first one decides nothing by itself."""
    members = members_of(archive)
    rows = [change(row) for row in rows_of(members, table)]
    members[f"tables/{table}"] = b"".join(
        json.dumps(row).encode() + b"\n" for row in rows if row is not None
    )
    return packed_again(members, folder)


def rows_of(members: Members, table: str) -> Iterator[JSON]:
    for line in members[f"tables/{table}"].splitlines():
        yield json.loads(line)
