"""Which files of a legacy folder hold memory, and what each is.

MEMORY.md or INDEX.md    one line for each topic; prose beside them is content
HISTORY.md               a raw log, never content
shards/*.md, memory/*.md topics
YYYY-MM-DD.md            daily notes
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workspaces.services.rebuild.documents import Refused, load_document

FILE_BYTES_MAX = 20 * 1024 * 1024
INDEX_STEMS = frozenset({"memory", "index"})
# Names that say nothing about what is inside.
EMPTY_STEMS = frozenset({"memory", "index", "general", "notes", "misc", "readme", "default"})
_HISTORY = re.compile(r"\Ahistory(?:[-_. ].*)?\Z", re.IGNORECASE)
_DAILY = re.compile(r"\A\d{4}[-_.]?\d{2}[-_.]?\d{2}(?!\d)")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LegacyFile:
    """`path` is relative to the folder, with slashes. `modified_at` is aware."""

    path: str
    markdown: str
    front_matter: dict[str, object]
    modified_at: datetime

    @property
    def stem(self) -> str:
        return self.path.rsplit("/", 1)[-1][: -len(".md")]

    @property
    def is_index(self) -> bool:
        return self.stem.casefold() in INDEX_STEMS

    @property
    def is_daily(self) -> bool:
        return _DAILY.match(self.stem) is not None

    @property
    def topic(self) -> str:
        """What the file's name says that it is about; empty when it says nothing."""
        is_named = not self.is_daily and self.stem.casefold() not in EMPTY_STEMS
        return re.sub(r"[-_]+", " ", self.stem).strip() if is_named else ""


def legacy_paths(folder: Path) -> list[str]:
    """Relative paths of markdown files, in order of name; hidden ones and logs left out."""
    return sorted(_walk(folder, prefix=""))


def _walk(folder: Path, *, prefix: str) -> Iterator[str]:
    """Links are not followed: they may lead out of the folder, or in circles."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(folder / entry.name, prefix=f"{prefix}{entry.name}/")
            elif entry.name.casefold().endswith(".md") and not _HISTORY.match(entry.name[:-3]):
                yield f"{prefix}{entry.name}"


def read_legacy_file(folder: Path, *, path: str) -> LegacyFile:
    """Raises Refused with the reason."""
    data, modified_at = _read(folder / path)
    text = _decoded(data)
    match = _FRONT_MATTER.match(text)
    values: dict[str, object] = {}
    if match is not None:
        try:
            values = load_document(match[1].encode())
        except Refused:
            match = None  # two rules with something between them that is no front matter
    markdown = text[match.end() :] if match is not None else text
    return LegacyFile(path, markdown, values, modified_at)


def _read(file: Path) -> tuple[bytes, datetime]:
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Refused("it is not a plain file")
            if status.st_size > FILE_BYTES_MAX:
                raise Refused("it is too large")
            return opened.read(), datetime.fromtimestamp(max(status.st_mtime, 0), tz=UTC)
    except OSError as error:
        raise Refused("it cannot be read") from error


def _decoded(data: bytes) -> str:
    """UTF-8, or UTF-16 with its mark. Other encodings would have to be guessed."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Refused("it is not UTF-8") from error
    if "\0" in text:
        raise Refused("it holds NUL")
    return text
