"""Markdown bodies on disk: the authority for long text.

A body is YAML front matter and then the markdown. It is written before its row commits, never
edited, and checked against the row's sha256 when it is read.
"""

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml
from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, Storage, storages

from holamem import faults
from holamem.errors import HolamemError, StorageFull, StorageRefused
from workspaces.head_text import head_text

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
TEMPORARY_SUFFIX = ".tmp"
WRITTEN_AT_ONCE = 8  # measured: 0.24 ms a file in place of 2.5; with 16 no better
COPIED_TOGETHER = 64  # a few megabytes at most in memory
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# One file that is no file, or a path that leads nowhere; everything else is the disk's state.
_NO_FILE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
_FRONT_MATTER = re.compile(rb"\A---\n.*?\n---\n", re.DOTALL)


class BodyMissing(HolamemError):
    code = "body_missing"


class BodyCorrupt(HolamemError):
    code = "body_corrupt"


@contextmanager
def disk_refusals() -> Iterator[None]:
    """What the disk refuses, as StorageFull or StorageRefused; what is no file stays an OSError.

    Nothing is tried again here: after a failed sync the same descriptor may claim success for
    data that is gone, so only a new file counts.
    """
    try:
        yield
    except _NO_FILE:
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull("The disk of the body store is full.") from error
        raise StorageRefused("The body store does not take or give files now.") from error


@dataclass(frozen=True, slots=True)
class WrittenBody:
    """`size` in bytes; `sha256` over the whole file."""

    path: str
    sha256: str
    size: int


class DurableFileStorage(FileSystemStorage):
    """Local disk with atomic and durable writes: a reader sees the whole file or none of it."""

    def __init__(self, location: str | Path | None = None) -> None:
        super().__init__(
            location=location,
            file_permissions_mode=FILE_MODE,
            directory_permissions_mode=DIRECTORY_MODE,
        )

    def _save(self, name: str, content: "File[bytes]") -> str:
        self.save_all({name: b"".join(content.chunks())})
        return name

    def save_all(self, files: Mapping[str, bytes]) -> None:
        """Each file as if it were saved alone; each directory is synced once, after the renames.

        Files are written side by side: the disk syncs many in the time that one takes. When the
        disk refuses one, those before it may stay: nothing refers to them yet. Nothing to save is
        nothing done. Raises StorageFull, StorageRefused.
        """
        with disk_refusals():
            self._write_all(files)

    def _write_all(self, files: Mapping[str, bytes]) -> None:
        written: dict[Path, Path] = {}
        try:
            for name in files:
                target = Path(self.path(name))
                temporary = target.with_name(f"{target.name}.{uuid4().hex}{TEMPORARY_SUFFIX}")
                written[temporary] = target
            for directory in dict.fromkeys(target.parent for target in written.values()):
                make_directories(directory)
            _side_by_side(write_and_sync, list(zip(written, files.values(), strict=True)))
            for temporary, target in written.items():
                faults.point("body.before_rename")
                os.replace(temporary, target)
                faults.point("body.after_rename")
        except BaseException:
            for temporary in written:
                with suppress(OSError):  # the first refusal is the one to be told
                    temporary.unlink()
            raise
        directories = {target.parent for target in written.values()}
        _side_by_side(sync_directory, [(directory,) for directory in directories])

    def open(self, name: str, mode: str = "rb") -> "File[Any]":
        with disk_refusals():
            return super().open(name, mode)

    def delete(self, name: str) -> None:
        with disk_refusals():
            super().delete(name)

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        with disk_refusals():
            return super().listdir(path)

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """Names come from ids: the same name is the same body, written again."""
        return name


def _side_by_side(act: Callable[..., None], calls: Sequence[tuple[Any, ...]]) -> None:
    """All of them are over when this returns; raises the first refusal.

    Threads of the moment: those of a pool would not be there after a fork.
    """
    if len(calls) < 2:
        for call in calls:
            act(*call)
        return
    with ThreadPoolExecutor(min(len(calls), WRITTEN_AT_ONCE)) as threads:
        running = [threads.submit(act, *call) for call in calls]
    for one in running:
        one.result()


def write_and_sync(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, FILE_MODE), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """A rename is atomic, but durable only once its directory is synced."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directories(path: Path) -> None:
    """Make the missing directories from the top, syncing each new entry in its parent."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for directory in reversed(missing):
        directory.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        sync_directory(directory.parent)


def body_storage() -> Storage:
    return storages["bodies"]


def render_body(front_matter: Mapping[str, object], markdown: str) -> bytes:
    return f"---\n{head_text(front_matter)}---\n{markdown}".encode()


def write_body(path: str, *, front_matter: Mapping[str, object], markdown: str) -> WrittenBody:
    """Durably write one body. Raises StorageRefused when the disk refuses; nothing is left then."""
    data = render_body(front_matter, markdown)
    save_bodies({path: data})
    return written_body(path, data)


def written_body(path: str, data: bytes) -> WrittenBody:
    """What the row says of a body with these bytes."""
    return WrittenBody(path=path, sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def save_bodies(files: Mapping[str, bytes]) -> None:
    """Durably write the bytes of several bodies, by path; all are on disk when this returns."""
    storage = body_storage()
    if isinstance(storage, DurableFileStorage):
        storage.save_all(files)
        return
    for path, data in files.items():
        storage.save(path, ContentFile(data))


def copy_body(source: str, target: str) -> None:
    """The same bytes under a second path."""
    copy_bodies({target: source})


def copy_bodies(targets: Mapping[str, str]) -> None:
    """The same bytes under a second path: source by target. Raises BodyMissing, with none copied.

    In portions, since a tree that grows moves all its summaries.
    """
    waiting = list(targets.items())
    for start in range(0, len(waiting), COPIED_TOGETHER):
        portion = waiting[start : start + COPIED_TOGETHER]
        save_bodies({target: read_bytes(source) for target, source in portion})


def delete_bodies(paths: Sequence[str]) -> None:
    """Raises StorageRefused; what was deleted before stays deleted."""
    for path in paths:
        body_storage().delete(path)


def read_bytes(path: str, *, sha256: str | None = None) -> bytes:
    """Raises BodyMissing, BodyCorrupt; StorageRefused when the disk does not give the file now."""
    try:
        with disk_refusals(), body_storage().open(path, "rb") as file:
            data: bytes = file.read()
    except _NO_FILE as error:
        raise BodyMissing("The body of this node is missing.") from error
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise BodyCorrupt("The body of this node does not match its hash.")
    return data


def read_markdown(path: str, *, sha256: str | None = None) -> str:
    """The markdown after the front matter. Raises BodyMissing or BodyCorrupt."""
    data = read_bytes(path, sha256=sha256)
    try:
        return _FRONT_MATTER.sub(b"", data, count=1).decode()
    except UnicodeDecodeError as error:
        raise BodyCorrupt("The body of this node is not UTF-8.") from error


def read_front_matter(path: str) -> dict[str, object]:
    """The ids and facts in a body's head; empty when there is none."""
    match = _FRONT_MATTER.match(read_bytes(path))
    if match is None:
        return {}
    loaded = yaml.safe_load(match.group(0).strip(b"-\n"))
    return loaded if isinstance(loaded, dict) else {}
