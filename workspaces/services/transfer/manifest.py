"""What an archive of a workspace says of itself, and why it may be refused."""

import json
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, JsonValue, ValidationError

from workspaces.services.backup.manifest import BackupDamaged, Manifest

EXPORT_FORMAT = 1


class ArchiveRefused(BackupDamaged):
    """Nothing of this archive was used."""

    code = "archive_refused"


class ExportedFrom(Manifest):
    """`tables` hold rows as lines of JSON. `vectors` names the models of the vectors: name and
    dimension by the id that their rows have.
    """

    kind: Literal["workspace"] = "workspace"
    workspace_id: str
    slug: Annotated[str, Field(max_length=63)]
    name: Annotated[str, Field(max_length=200)]
    settings: dict[str, JsonValue]
    vectors: dict[str, tuple[str, int]]


def parse_export(data: bytes) -> ExportedFrom:
    """Raises ArchiveRefused."""
    try:
        values: Any = json.loads(data)
        if isinstance(values, dict) and values.get("format") != EXPORT_FORMAT:
            raise ArchiveRefused("Another release made this archive: import it with that one.")
        # Pairs are tuples, which JSON has as lists.
        manifest = ExportedFrom.model_validate_json(data)
        datetime.fromisoformat(manifest.taken_at)
        UUID(manifest.workspace_id)
    except (ValueError, RecursionError, ValidationError) as error:
        raise ArchiveRefused("The manifest of the archive cannot be read.") from error
    return manifest
