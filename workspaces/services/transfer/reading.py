"""Rows of an archive, as if a stranger had made it: each is looked at before any is used."""

import json
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchVectorField
from django.db.models import Field, ForeignKey, JSONField, UUIDField

from workspaces.models.tenancy import EndUser
from workspaces.services.backup.manifest import TABLE_FOLDER
from workspaces.services.backup.reading import (
    OnProgress,
    StoredBackup,
    check_backup,
    open_backup,
)
from workspaces.services.transfer.ids import IdMap
from workspaces.services.transfer.manifest import ArchiveRefused, ExportedFrom, parse_export
from workspaces.services.transfer.tables import ExportTable, Row, export_tables

UNPACKED_BYTES_MAX = 16 * 1024**3
RATIO_MAX = 100  # of the unpacked bytes to those of the archive; memory packs to a fifth
RATIO_FROM_BYTES = 16 * 1024**2  # below, no ratio does harm
DIRECTORY_BYTES_MAX = 4 * 1024**2  # of the list of members, which is held in memory
LINE_BYTES_MAX = 16 * 1024**2  # an event's text and metadata, with everything escaped
ROWS_MAX = 5_000_000
_END_OF_ARCHIVE = b"PK\x05\x06"
_END_BYTES = 22 + 65535  # with the longest comment


@contextmanager
def open_export(path: Path) -> Iterator[StoredBackup]:
    """Whose manifest is an `ExportedFrom`. Raises ArchiveRefused, BackupDamaged, OSError."""
    _refuse_long_directory(path)
    with open_backup(path, parse=parse_export) as archive:
        _refuse_bomb(archive, packed_bytes=path.stat().st_size)
        _require_known_tables(archive)
        yield archive


def manifest_of(archive: StoredBackup) -> ExportedFrom:
    return cast(ExportedFrom, archive.manifest)


def _refuse_long_directory(path: Path) -> None:
    """Before the library reads it whole."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _END_BYTES))
        end = file.read()
    at = end.rfind(_END_OF_ARCHIVE)
    if at < 0 or len(end) < at + 22:
        raise ArchiveRefused("This is no whole archive: it was cut short, or is something else.")
    (directory_bytes,) = struct.unpack_from("<I", end, at + 12)
    if directory_bytes > DIRECTORY_BYTES_MAX:
        raise ArchiveRefused("The archive holds too many members.")


def _refuse_bomb(archive: StoredBackup, *, packed_bytes: int) -> None:
    unpacked = sum(member.size for member in archive.manifest.members.values())
    is_bomb = unpacked > RATIO_FROM_BYTES and unpacked > packed_bytes * RATIO_MAX
    if is_bomb or unpacked > UNPACKED_BYTES_MAX or archive.manifest.rows > ROWS_MAX:
        raise ArchiveRefused("The archive unpacks to more than memory can hold.")


def _require_known_tables(archive: StoredBackup) -> None:
    """Exactly ours, with exactly our columns: another release has others."""
    ours = {table.name: sorted(table.columns) for table in export_tables()}
    theirs = {table.name: sorted(table.columns) for table in archive.manifest.tables}
    if ours != theirs or len(theirs) != len(archive.manifest.tables):
        raise ArchiveRefused("Another release made this archive: its tables are not those of this.")


def look_through(archive: StoredBackup, *, ids: IdMap, on_progress: OnProgress) -> None:
    """Read all of it once, and learn the ids of its rows. Raises ArchiveRefused, BackupDamaged."""
    check_backup(archive, on_progress=on_progress)
    scopes = {ids.source}
    tables = export_tables()
    for number, table in enumerate(tables, 1):
        check = _checks_of(table, source=ids.source, scopes=scopes)
        for row in raw_rows(archive, table=table):
            check(row)
            ids.learn(row["id"])
            if table.model is EndUser:
                scopes.add(row["id"])
        on_progress("looked through", number, len(tables))


def raw_rows(archive: StoredBackup, *, table: ExportTable) -> Iterator[Row]:
    """With exactly the table's columns. Raises ArchiveRefused."""
    columns = set(table.columns)
    for line in _lines(archive, name=TABLE_FOLDER + table.name):
        row = _row(line)
        if row.keys() != columns:
            raise ArchiveRefused(f"A row of {table.name} has other columns than its table.")
        yield row


def _lines(archive: StoredBackup, *, name: str) -> Iterator[bytes]:
    waiting = b""
    for chunk in archive.chunks(name):
        *lines, waiting = (waiting + chunk).split(b"\n")
        if len(waiting) > LINE_BYTES_MAX:
            raise ArchiveRefused(f"A row of {name} is too long.")
        yield from lines
    if waiting:
        raise ArchiveRefused(f"{name} ends within a row.")


def _row(line: bytes) -> Row:
    try:
        row: Any = json.loads(line, parse_constant=_refuse_number)
        line.decode().encode()
    except (ValueError, RecursionError) as error:
        raise ArchiveRefused("A row of the archive cannot be read.") from error
    if not isinstance(row, dict):
        raise ArchiveRefused("A row of the archive is none.")
    return row


def _refuse_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _checks_of(table: ExportTable, *, source: str, scopes: set[str]) -> Callable[[Row], None]:
    """What the database would not refuse by itself."""
    fields = table.model._meta.concrete_fields
    chosen = {
        field.attname: {value for value, _ in field.flatchoices}
        for field in fields
        if field.choices
    }
    is_scoped = "scope_id" in table.columns

    def check(row: Row) -> None:
        if row["workspace_id"] != source:
            raise ArchiveRefused(f"A row of {table.name} belongs to another workspace.")
        if is_scoped and row["scope_id"] is not None and not _is_in(row["scope_id"], scopes):
            raise ArchiveRefused(f"A row of {table.name} belongs to nobody in this archive.")
        for name, allowed in chosen.items():
            if not (row[name] is None or _is_in(row[name], {*allowed, ""})):
                raise ArchiveRefused(f"A row of {table.name} has a {name} that is none.")

    return check


def _is_in(value: object, allowed: set[str]) -> bool:
    return isinstance(value, str) and value in allowed


def mapped_rows(archive: StoredBackup, *, table: ExportTable, ids: IdMap) -> Iterator[Row]:
    """With the ids of the target; texts stay as they are. Raises ArchiveRefused."""
    change = {
        field.attname: _change_of(field, ids=ids)
        for field in table.model._meta.concrete_fields
        if field.attname not in table.as_it_was and _change_of(field, ids=ids) is not None
    }
    for row in raw_rows(archive, table=table):
        yield {
            name: value if (act := change.get(name)) is None else act(value)
            for name, value in row.items()
        }


def _change_of(field: "Field[Any, Any]", *, ids: IdMap) -> Callable[[Any], Any] | None:
    kind = field.target_field if isinstance(field, ForeignKey) else field
    if isinstance(kind, UUIDField):
        return ids.id
    if isinstance(kind, ArrayField) and isinstance(kind.base_field, UUIDField):
        return lambda values: [ids.id(value) for value in _listed(values)]
    if isinstance(kind, JSONField):
        return ids.document
    if isinstance(kind, SearchVectorField):
        return ids.lexemes
    return None


def _listed(values: object) -> list[Any]:
    if not isinstance(values, list):
        raise ArchiveRefused("The archive holds a list that is none.")
    return values
