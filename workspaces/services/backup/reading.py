"""Reading a backup as if a stranger had made it: everything is checked before anything is used.

Nothing is ever unpacked by the names in the archive. Members have names of a known form, sizes
are bounded by the manifest, and files go where a rule of the product allows a file.
"""

import hashlib
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from pydantic import ValidationError

from workspaces.services.backup.manifest import (
    FILE_LIST,
    MANIFEST,
    MANIFEST_BYTES_MAX,
    PACK_FOLDER,
    TABLE_FOLDER,
    BackupDamaged,
    Manifest,
    StoredFile,
    is_file_place,
    parse_manifest,
)

READ_BYTES = 1024 * 1024
PROGRESS_FILES = 500
LINE_BYTES_MAX = 16 * 1024
FILE_BYTES_MAX = 256 * 1024 * 1024  # one is held in memory; bodies are far smaller
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 0x1  # flag bit of an entry
# What the standard library raises for archives that were cut, changed or forged.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """An open backup whose manifest and list of members are in order."""

    manifest: Manifest
    _zip: zipfile.ZipFile

    def chunks(self, name: str) -> Iterator[bytes]:
        """The unpacked bytes of a member, never more than its manifest says."""
        left = self.manifest.members[name].size
        with _readable(), self._zip.open(name) as file:
            while chunk := file.read(min(READ_BYTES, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise BackupDamaged(f"{name} is longer than the manifest says.")
                yield chunk

    def table_rows(self, name: str) -> Iterator[bytes]:
        return self.chunks(TABLE_FOLDER + name)

    def listed_files(self) -> Iterator[StoredFile]:
        """In the order in which their bytes lie in the packs."""
        with _readable(), self._zip.open(FILE_LIST) as lines:
            while line := lines.readline(LINE_BYTES_MAX):
                yield _listed(line)

    def files(self) -> Iterator[tuple[StoredFile, bytes]]:
        """Every file with its bytes, which are what the list says."""
        packed = _Packed(self)
        for file in self.listed_files():
            data = packed.take(file.size)
            if hashlib.sha256(data).hexdigest() != file.sha256:
                raise BackupDamaged(f"{file.path} is not what the backup says it is.")
            yield file, data
        if packed.take(1, at_end=True):
            raise BackupDamaged("The backup holds bytes that belong to no file.")


class _Packed:
    """The packs as one stream."""

    def __init__(self, backup: StoredBackup) -> None:
        self._chunks = (chunk for name in backup.manifest.packs for chunk in backup.chunks(name))
        self._waiting = bytearray()

    def take(self, size: int, *, at_end: bool = False) -> bytes:
        while len(self._waiting) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._waiting += chunk
        if len(self._waiting) < size and not at_end:
            raise BackupDamaged("The backup ends before its last file.")
        taken = bytes(self._waiting[:size])
        del self._waiting[:size]
        return taken


@contextmanager
def open_backup(
    path: Path, *, parse: Callable[[bytes], Manifest] = parse_manifest
) -> Iterator[StoredBackup]:
    """`parse` reads the manifest. Raises BackupDamaged, BackupTooNew, OSError."""
    with path.open("rb") as file, _opened(file, path=path) as archive:
        manifest = parse(_manifest_bytes(archive))
        _check_members(archive, manifest=manifest)
        yield StoredBackup(manifest, archive)


@contextmanager
def _opened(file: IO[bytes], *, path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(file)
    except _UNREADABLE as error:
        raise BackupDamaged(
            f"{path} is no whole backup: it was cut short, or is something else."
        ) from error
    with archive:
        yield archive


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise BackupDamaged("The backup is damaged, or cannot be read.") from error


def _manifest_bytes(archive: zipfile.ZipFile) -> bytes:
    try:
        entry = archive.getinfo(MANIFEST)
    except KeyError as error:
        raise BackupDamaged("The file is no backup: it has no manifest.") from error
    _check_entry(entry)
    if entry.file_size > MANIFEST_BYTES_MAX:
        raise BackupDamaged("The manifest of the backup is too long.")
    with _readable():
        return archive.read(entry)


def _check_members(archive: zipfile.ZipFile, *, manifest: Manifest) -> None:
    """The archive holds exactly what the manifest names, in the sizes that it names."""
    entries = archive.infolist()
    sizes = {entry.filename: entry.file_size for entry in entries if entry.filename != MANIFEST}
    expected = {name: member.size for name, member in manifest.members.items()}
    if sizes != expected or len(entries) != len(expected) + 1:
        raise BackupDamaged("The backup does not hold what its manifest says.")
    named = [FILE_LIST, *manifest.packs, *(TABLE_FOLDER + row.name for row in manifest.tables)]
    if sorted(named) != sorted(expected):
        raise BackupDamaged("The manifest of the backup contradicts itself.")
    if not all(name.startswith(PACK_FOLDER) for name in manifest.packs):
        raise BackupDamaged("The manifest of the backup contradicts itself.")
    for entry in entries:
        _check_entry(entry)


def _check_entry(entry: zipfile.ZipInfo) -> None:
    if entry.flag_bits & ENCRYPTED or entry.compress_type not in COMPRESSIONS:
        raise BackupDamaged("The backup is packed in a way that no backup is.")


def _listed(line: bytes) -> StoredFile:
    try:
        file = StoredFile.model_validate_json(line)
    except ValidationError as error:
        raise BackupDamaged("The list of files in the backup cannot be read.") from error
    if not is_file_place(file.path):
        raise BackupDamaged(f"The backup names a file where none may lie: {file.path[:200]!r}")
    if file.size > FILE_BYTES_MAX:
        raise BackupDamaged(f"{file.path} is larger than any file of memory.")
    return file


def check_backup(backup: StoredBackup, *, on_progress: OnProgress) -> None:
    """Read all of it once. Raises BackupDamaged for anything that is not as the manifest says."""
    for number, table in enumerate(backup.manifest.tables, 1):
        _check_member(backup, name=TABLE_FOLDER + table.name, lines=table.rows)
        on_progress("checked tables", number, len(backup.manifest.tables))
    _check_member(backup, name=FILE_LIST, lines=backup.manifest.files)
    _check_files(backup, on_progress=on_progress)


def _check_member(backup: StoredBackup, *, name: str, lines: int) -> None:
    digest, size, found = hashlib.sha256(), 0, 0
    for chunk in backup.chunks(name):
        digest.update(chunk)
        size += len(chunk)
        found += chunk.count(b"\n")
    member = backup.manifest.members[name]
    if size != member.size or digest.hexdigest() != member.sha256:
        raise BackupDamaged(f"{name} is not what the manifest says.")
    if found != lines:
        raise BackupDamaged(f"{name} has {found} lines, not {lines}.")


def _check_files(backup: StoredBackup, *, on_progress: OnProgress) -> None:
    """Every path once, none the folder of another, and every file's bytes by its own hash."""
    paths: set[str] = set()
    folders: set[str] = set()
    total = 0
    for file, data in backup.files():
        above = {str(parent) for parent in PurePosixPath(file.path).parents}
        if file.path in paths or file.path in folders or paths & above:
            raise BackupDamaged(f"The backup names {file.path} twice.")
        paths.add(file.path)
        folders |= above
        total += len(data)
        if len(paths) % PROGRESS_FILES == 0 or len(paths) == backup.manifest.files:
            on_progress("checked files", len(paths), backup.manifest.files)
    if (len(paths), total) != (backup.manifest.files, backup.manifest.file_bytes):
        raise BackupDamaged("The backup does not hold the files that its manifest counts.")
