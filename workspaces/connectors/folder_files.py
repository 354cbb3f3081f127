"""Reading a folder that nobody here controls: no link is followed, nothing outside is opened."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from holamem.errors import Unavailable
from holamem.text.normalise import find_forbidden

SUFFIXES = (".md", ".markdown")
MAX_DEPTH = 64
MAX_FILES = 100_000
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe for reading would wait for its writer.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Unreadable(Exception):
    """One file that cannot be taken; the message is for people and names no path."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in the listing: its path in the folder, with `/`, and what marks its state."""

    path: str
    mtime_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class Content:
    data: bytes
    mtime_ns: int


@dataclass(slots=True)
class Listing:
    """`unread` maps folders and files that could not be looked at to the reason."""

    files: list[Entry] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.files and not self.unread

    def hides(self, path: str) -> bool:
        """Whether the file may still be there although it is not listed."""
        return any(path == name or path.startswith(f"{name}/") for name in self.unread)


@contextmanager
def opened_folder(root: Path, folder: Path) -> Iterator[int]:
    """A descriptor of the folder. Raises Unavailable when it is not there."""
    try:
        root_fd = os.open(root, _FOLDER_FLAGS)
    except OSError as error:
        raise Unavailable(f"The folder cannot be opened: {_reason(error)}.") from error
    try:
        descriptor = _open_below(root_fd, folder.relative_to(root).parts, flags=_FOLDER_FLAGS)
    except OSError as error:
        raise Unavailable(f"The folder cannot be opened: {_reason(error)}.") from error
    finally:
        os.close(root_fd)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def list_files(folder_fd: int) -> Listing:
    """Every markdown file below, by path. Raises Unavailable when the folder cannot be listed."""
    listing = Listing()
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        parts = waiting.pop()
        try:
            waiting += _list_one(folder_fd, parts, listing=listing)
        except OSError as error:
            if not parts:
                raise Unavailable(f"The folder cannot be listed: {_reason(error)}.") from error
            listing.unread["/".join(parts)] = f"The folder cannot be listed: {_reason(error)}."
        if len(listing.files) > MAX_FILES:
            raise Unavailable(f"The folder holds more than {MAX_FILES} files.")
    listing.files.sort(key=lambda entry: entry.path)
    return listing


def _list_one(folder_fd: int, parts: tuple[str, ...], *, listing: Listing) -> list[tuple[str, ...]]:
    """Adds the files of one folder to the listing; returns the folders in it."""
    if len(parts) > MAX_DEPTH:
        listing.unread["/".join(parts)] = f"Folders are read {MAX_DEPTH} deep."
        return []
    descriptor = _open_below(folder_fd, parts, flags=_FOLDER_FLAGS)
    folders = []
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append((*parts, entry.name))
                elif entry.name.lower().endswith(SUFFIXES):
                    _list_file(entry, path="/".join((*parts, entry.name)), listing=listing)
    finally:
        os.close(descriptor)
    return folders


def _list_file(entry: "os.DirEntry[str]", *, path: str, listing: Listing) -> None:
    """Links, pipes and devices are no files; a file that goes away meanwhile is not there."""
    try:
        state = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        listing.unread[path] = f"The file cannot be looked at: {_reason(error)}."
        return
    if not stat.S_ISREG(state.st_mode):
        return
    if find_forbidden(path) == "lone_surrogate":  # how Python shows bytes that are no UTF-8
        listing.unread[path] = "The name is not UTF-8."
    else:
        listing.files.append(Entry(path, state.st_mtime_ns, state.st_size))


def read_file(folder_fd: int, path: str, *, max_bytes: int) -> Content:
    """All bytes of a regular file, of one moment. Raises Unreadable."""
    try:
        descriptor = _open_below(folder_fd, tuple(path.split("/")), flags=_FILE_FLAGS)
    except OSError as error:
        raise Unreadable(f"The file cannot be opened: {_reason(error)}.") from error
    try:
        return _read_steadily(descriptor, max_bytes=max_bytes)
    except OSError as error:
        raise Unreadable(f"The file cannot be read: {_reason(error)}.") from error
    finally:
        os.close(descriptor)


def _read_steadily(descriptor: int, *, max_bytes: int) -> Content:
    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        raise Unreadable("This is not a regular file.")
    if before.st_size > max_bytes:
        raise Unreadable(f"The file is larger than {max_bytes} bytes.")
    data = read_up_to(descriptor, max_bytes + 1)
    after = os.fstat(descriptor)
    is_steady = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
    if not is_steady or len(data) != after.st_size:
        raise Unreadable("The file changed while it was read.")
    return Content(data, after.st_mtime_ns)


def read_up_to(descriptor: int, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := os.read(descriptor, size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _open_below(start_fd: int, parts: tuple[str, ...], *, flags: int) -> int:
    """Part by part, so that no part is a link, whoever moves things meanwhile."""
    descriptor = os.open(".", _FOLDER_FLAGS, dir_fd=start_fd)
    for number, part in enumerate(parts, 1):
        if part in ("", ".", ".."):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a plain name")
        try:
            following = os.open(
                part, flags if number == len(parts) else _FOLDER_FLAGS, dir_fd=descriptor
            )
        finally:
            os.close(descriptor)
        descriptor = following
    return descriptor


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else type(error).__name__
