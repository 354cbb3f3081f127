"""Writing the one file of a backup: it has its name only once it is whole and on disk.

A ZIP archive, so that any system can look into it. Bodies are many and small: they follow one
another in packs, and a list says which is which.
"""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import IO

from holamem import faults
from holamem.errors import Conflict
from workspaces.bodies import FILE_MODE, sync_directory
from workspaces.services.backup.manifest import (
    FILE_LIST,
    MANIFEST,
    PACK_FOLDER,
    Manifest,
    Member,
    StoredFile,
)

PARTIAL_SUFFIX = ".partial"
PACK_BYTES = 16 * 1024 * 1024  # held in memory until it is written
READ_BYTES = 1024 * 1024
# Takes a third of the time of the usual 6, for archives that are a tenth larger.
COMPRESSION_LEVEL = 1


class Archive:
    """An archive that is being written, member after member."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(
            file, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=COMPRESSION_LEVEL
        )
        self.members: dict[str, Member] = {}

    def add(self, name: str, chunks: Iterable[bytes]) -> None:
        digest, size = hashlib.sha256(), 0
        with self._zip.open(name, "w", force_zip64=True) as member:
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                member.write(chunk)
        self.members[name] = Member(size=size, sha256=digest.hexdigest())

    def abandon(self) -> None:
        """Its file goes away: nothing of it is written later, when this is collected."""
        with suppress(ValueError, OSError):
            self._zip.close()

    def close(self, manifest: Manifest) -> None:
        self._zip.writestr(MANIFEST, manifest.model_dump_json(indent=1))
        self._zip.close()


class FileWriter:
    """Puts files into packs, and a line for each into the list that `close` adds."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._list = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self.packs: list[str] = []
        self.files = 0
        self.bytes = 0

    def add(self, path: str, data: bytes) -> None:
        line = StoredFile(path=path, size=len(data), sha256=hashlib.sha256(data).hexdigest())
        self._list.write(line.model_dump_json().encode() + b"\n")
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        self.files += 1
        self.bytes += len(data)
        if self._waiting_bytes >= PACK_BYTES:
            self._write_pack()

    def close(self) -> None:
        if self._waiting:
            self._write_pack()
        self._list.seek(0)
        self._archive.add(FILE_LIST, iter(lambda: self._list.read(READ_BYTES), b""))
        self._list.close()

    def _write_pack(self) -> None:
        name = f"{PACK_FOLDER}{len(self.packs):06}"
        self._archive.add(name, self._waiting)
        self.packs.append(name)
        self._waiting, self._waiting_bytes = [], 0


def backup_path(target: Path, *, taken_at: datetime) -> Path:
    """Where the backup goes: a name of its own in a folder, or the file that was named.

    Raises Conflict when it is there already: a backup is never overwritten.
    """
    path = target
    if target.is_dir():
        path = target / f"holamem-{taken_at:%Y%m%dT%H%M%SZ}.zip"
    if path.exists():
        raise Conflict(f"{path} exists already. Name another file, or a folder.")
    if not path.parent.is_dir():
        raise Conflict(f"The folder {path.parent} does not exist.")
    return path


@contextmanager
def new_archive(path: Path) -> Iterator[Archive]:
    """Written beside its place and renamed; when it fails, nothing is left.

    What a killed run left is written over. Raises Conflict while another run writes it.
    """
    partial = path.with_name(path.name + PARTIAL_SUFFIX)
    with _opened(partial) as file:
        archive = Archive(file)
        try:
            yield archive
            file.flush()
            os.fsync(file.fileno())
            faults.point("backup.before_rename")
            os.replace(partial, path)
            sync_directory(path.parent)
        except BaseException:
            archive.abandon()
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def _opened(partial: Path) -> Iterator[IO[bytes]]:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(partial, flags, FILE_MODE), "r+b") as file:
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except BlockingIOError as error:
            raise Conflict(f"Another backup is being written to {partial}.") from error
        os.fchmod(file.fileno(), FILE_MODE)
        file.truncate()
        yield file
