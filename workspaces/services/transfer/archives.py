"""Archives as they are kept in the body store, which all processes share."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from django.core.files.base import File

from holamem.errors import PayloadTooLarge
from workspaces.bodies import (
    FILE_MODE,
    TEMPORARY_SUFFIX,
    BodyMissing,
    DurableFileStorage,
    body_storage,
    delete_bodies,
    disk_refusals,
    make_directories,
    sync_directory,
)
from workspaces.models.tenancy import Workspace
from workspaces.models.transfers import Transfer

FOLDER = "transfers"
FIRST_BYTES = b"PK\x03\x04"


def archive_name(workspace: Workspace, *, transfer: Transfer) -> str:
    return f"{workspace.tenant.slug}/{workspace.slug}/{FOLDER}/{transfer.id}.zip"


@contextmanager
def written_archive(name: str) -> Iterator[Path]:
    """A place to write the archive at; when the block ends well it is kept under its name."""
    storage = body_storage()
    if isinstance(storage, DurableFileStorage):
        target = Path(storage.path(name))
        with disk_refusals():
            make_directories(target.parent)
            part = target.with_name(f"{target.name}.{uuid4().hex}{TEMPORARY_SUFFIX}")
            try:
                yield part
                os.replace(part, target)
                sync_directory(target.parent)
            finally:
                part.unlink(missing_ok=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "archive.zip"
        yield part
        with part.open("rb") as file:
            storage.save(name, File(file))


@contextmanager
def readable_archive(name: str) -> Iterator[Path]:
    """The archive as a file of this machine. Raises BodyMissing."""
    storage = body_storage()
    if isinstance(storage, DurableFileStorage):
        path = Path(storage.path(name))
        if not path.is_file() or path.is_symlink():
            raise BodyMissing("The archive is gone.")
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive.zip"
        with storage.open(name, "rb") as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield path


def receive(path: Path, *, content: Iterable[bytes], max_bytes: int) -> tuple[int, str]:
    """Write what was sent, and sync it; its size and hash. Raises PayloadTooLarge."""
    digest, size = sha256(), 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, FILE_MODE), "wb") as file:
        for chunk in content:
            size += len(chunk)
            if size > max_bytes:
                raise PayloadTooLarge(f"An archive that is sent has at most {max_bytes} bytes.")
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return size, digest.hexdigest()


def looks_like_archive(path: Path) -> bool:
    """By its first bytes, so that a slip is told at once; the import looks at all of it."""
    with path.open("rb") as file:
        return file.read(len(FIRST_BYTES)) == FIRST_BYTES


def digest_of(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while chunk := file.read(1024 * 1024):
            digest.update(chunk)
    return digest.hexdigest()


def remove_archive(name: str) -> None:
    if name:
        delete_bodies([name])
