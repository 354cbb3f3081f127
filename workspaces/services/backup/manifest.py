"""What a backup says of itself: enough to refuse a damaged or a foreign one before any write."""

import json
import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holamem.errors import HolamemError
from workspaces.services.erasure.entry import JOURNAL_FOLDER

FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES_MAX = 16 * 1024 * 1024
PROBLEMS_KEPT = 1000  # in the manifest; the command names all
FILE_LIST = "files.jsonl"
TABLE_FOLDER = "tables/"
PACK_FOLDER = "files/"

# Tenant and workspace, then what the product keeps there. Neither `.` nor `..` is a name.
_NAME = r"(?!\.{1,2}/)[^/\\\x00-\x1f\x7f]{1,255}"
_BODY = re.compile(rf"{_NAME}/{_NAME}/memory/(?:{_NAME}/)+[0-9a-f-]{{36}}\.md")
_JOURNAL = re.compile(rf"{_NAME}/{_NAME}/{JOURNAL_FOLDER}/[0-9a-f-]{{36}}\.json")
PATH_CHARACTERS_MAX = 600  # as long as a row's

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Size = Annotated[int, Field(ge=0)]


class BackupDamaged(HolamemError):
    """Nothing of this file may be used."""

    code = "backup_damaged"


class BackupTooNew(HolamemError):
    code = "backup_too_new"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Member(_Part):
    """One member of the archive; both are of its unpacked bytes."""

    size: Size
    sha256: Sha256


class Table(_Part):
    """One table; its rows are the member `tables/<name>`, in PostgreSQL's text format for COPY."""

    name: str
    columns: list[str]
    rows: Size


class StoredFile(_Part):
    """One line of the list of files; their bytes follow one another in the packs."""

    path: str
    size: Size
    sha256: Sha256


class Problem(_Part):
    """A body that the database names and the backup lacks, or holds damaged."""

    object: str
    path: str
    reason: str


class Manifest(_Part):
    """`packs` are names of members, in order; `migrations` are app and name."""

    format: Literal[1] = 1
    product_version: str
    taken_at: str
    migrations: list[list[str]]
    tables: list[Table]
    files: Size
    file_bytes: Size
    packs: list[str]
    members: dict[str, Member]
    problems: list[Problem]

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    @property
    def migration_keys(self) -> list[tuple[str, str]]:
        return [(app, name) for app, name in self.migrations]


def is_file_place(path: str) -> bool:
    """Whether a body or an entry of the journal of erasures may lie there; POSIX, relative."""
    return len(path) <= PATH_CHARACTERS_MAX and bool(is_journal(path) or _BODY.fullmatch(path))


def is_journal(path: str) -> bool:
    return _JOURNAL.fullmatch(path) is not None


def parse_manifest(data: bytes) -> Manifest:
    """Raises BackupDamaged, BackupTooNew."""
    try:
        values: Any = json.loads(data)
        if isinstance(values, dict) and _is_newer(values.get("format")):
            raise BackupTooNew("A newer release made this backup: restore it with that release.")
        manifest = Manifest.model_validate(values)
        datetime.fromisoformat(manifest.taken_at)
    except (ValueError, RecursionError, ValidationError) as error:
        raise BackupDamaged("The manifest of the backup cannot be read.") from error
    if any(len(key) != 2 for key in manifest.migrations):
        raise BackupDamaged("The manifest of the backup names migrations that are none.")
    return manifest


def _is_newer(number: object) -> bool:
    return isinstance(number, int) and number > FORMAT
