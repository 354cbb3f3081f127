"""The built-in connector: a folder of markdown files, each of them one object."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from holamem.clock import now
from holamem.errors import InvalidInput
from holamem.text.normalise import is_blank
from holamem.text.secrets import mask_secrets
from workspaces.connectors.base import (
    NAME_CHARACTERS,
    TEXT_BYTES,
    Failure,
    Item,
    Page,
    Progress,
    Scan,
    hold_deletions,
    problem_of,
)
from workspaces.connectors.folder_files import (
    Entry,
    Listing,
    Unreadable,
    list_files,
    opened_folder,
    read_file,
)
from workspaces.connectors.front_matter import read_document
from workspaces.connectors.roots import FIELD, resolve_folder

PAGE_OBJECTS = 50
PAGE_BYTES = 2_000_000
SEEN_FILES = 2_000  # a page goes out at least this often, so that progress can be seen to move
READ_TRIES = 2  # an editor that saves is done in a moment
# A file written this shortly before it was read may change again under the same time and size.
UNSETTLED_NS = 2_000_000_000


class MarkdownFolder:
    """Every `*.md` and `*.markdown` below a folder; the path in the folder names the object.

    Links are not followed. What a file says is read again when its time or size changed, and is
    an event when its bytes changed. A renamed file is a deletion and a new object.
    """

    name = "markdown_folder"

    def validate_settings(self, settings: Mapping[str, Any], *, tenant: str) -> dict[str, Any]:
        unknown = sorted(set(settings) - {"path"})
        if unknown:
            raise InvalidInput("This setting is not known here.", field=f"settings.{unknown[0]}")
        path = settings.get("path")
        if not isinstance(path, str) or is_blank(path):
            raise InvalidInput("The folder's absolute path is expected.", field=FIELD)
        resolve_folder(path, tenant=tenant)
        return {"path": path}

    def fetch(self, scan: Scan) -> Iterator[Page]:
        root, folder = resolve_folder(str(scan.settings["path"]), tenant=scan.tenant)
        with opened_folder(root, folder) as folder_fd:
            yield from _pages(folder_fd, scan=scan)


@dataclass(slots=True)
class _Draft:
    """A page being filled. `size` counts bytes of text, `waiting` files since the last page.

    `emptied` is of the whole pass: files that say nothing any more.
    """

    progress: Progress
    emptied: list[str] = field(default_factory=list)
    size: int = 0
    waiting: int = 0
    items: list[Item] = field(default_factory=list)
    deletions: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unchanged: dict[str, str] = field(default_factory=dict)

    def add(self, outcome: Item | Failure | None) -> None:
        """None: nothing to tell."""
        if isinstance(outcome, Item):
            self.items.append(outcome)
            self.size += len(outcome.text.encode())
            self._count(changed=1)
        elif isinstance(outcome, Failure):
            self.failures.append(outcome)
            self._count(failed=1)

    def remove(self, path: str) -> None:
        self.deletions.append(path)
        self._count(deleted=1)

    def see(self) -> None:
        self.waiting += 1
        self._count(seen=1)

    @property
    def is_full(self) -> bool:
        objects = len(self.items) + len(self.deletions) + len(self.failures)
        is_large = objects >= PAGE_OBJECTS or self.size >= PAGE_BYTES
        return is_large or self.waiting >= SEEN_FILES

    def following(self) -> "_Draft":
        return _Draft(self.progress, self.emptied)

    def page(self, *, is_last: bool = False) -> Page:
        kept = {"changed": self.progress.changed, "deleted": self.progress.deleted}
        return Page(
            progress=self.progress,
            cursor={} if is_last else kept,
            items=tuple(self.items),
            deletions=tuple(self.deletions),
            failures=tuple(self.failures),
            unchanged=dict(self.unchanged),
        )

    def _count(self, **added: int) -> None:
        counts = {name: getattr(self.progress, name) + more for name, more in added.items()}
        self.progress = replace(self.progress, **counts)


def _pages(folder_fd: int, *, scan: Scan) -> Iterator[Page]:
    """A pass that was cut off looks at every file again, which is quick, and counts on.

    Deletions come last, when all of them are known.
    """
    listing = list_files(folder_fd)
    missing = _gone(listing, known=scan.known)
    hold_deletions(scan, gone=len(missing), is_empty=listing.is_empty)
    draft = _Draft(
        Progress(
            changed=int(scan.cursor.get("changed", 0)),
            deleted=int(scan.cursor.get("deleted", 0)),
            total=len(listing.files) + len(listing.unread),
        )
    )
    for path, reason in sorted(listing.unread.items()):
        draft.see()
        draft.add(Failure(_shown(path), reason))
        if draft.is_full:
            yield draft.page()
            draft = draft.following()
    for entry in listing.files:
        _look_at(folder_fd, entry=entry, scan=scan, draft=draft)
        if draft.is_full:
            yield draft.page()
            draft = draft.following()
    gone = sorted([*missing, *draft.emptied])
    hold_deletions(scan, gone=len(gone), is_empty=listing.is_empty)
    for path in gone:
        draft.remove(path)
        if draft.is_full:
            yield draft.page()
            draft = draft.following()
    yield draft.page(is_last=True)


def _gone(listing: Listing, *, known: Mapping[str, str]) -> list[str]:
    """What could not be looked at is not gone."""
    listed = {entry.path for entry in listing.files}
    return sorted(path for path in known if path not in listed and not listing.hides(path))


def _look_at(folder_fd: int, *, entry: Entry, scan: Scan, draft: _Draft) -> None:
    known = scan.known.get(entry.path)
    draft.see()
    if known is not None and known.startswith(f"{entry.mtime_ns}:{entry.size}:"):
        return
    try:
        item = _read_item(folder_fd, path=entry.path, scan=scan)
    except Unreadable as error:
        draft.add(Failure(_shown(entry.path), str(error)))
        return
    if known is not None and _digest_in(known) == _digest_in(item.version):
        draft.unchanged[entry.path] = item.version
    elif not is_blank(item.text):
        problem = problem_of(item)
        draft.add(item if problem is None else Failure(_shown(entry.path), problem))
    elif known is not None:
        draft.emptied.append(entry.path)  # it says nothing any more


def _read_item(folder_fd: int, *, path: str, scan: Scan) -> Item:
    """Raises Unreadable."""
    started_ns = int(now().timestamp() * 1_000_000_000)
    for left in reversed(range(READ_TRIES)):
        try:
            content = read_file(folder_fd, path, max_bytes=TEXT_BYTES)
            break
        except Unreadable:
            if not left:
                raise
    document = read_document(_decoded(content.data), zone=scan.zone)
    is_settled = started_ns - content.mtime_ns > UNSETTLED_NS
    mark = content.mtime_ns if is_settled else "-"
    return Item(
        external_id=path,
        text=document.text,
        version=f"{mark}:{len(content.data)}:{hashlib.sha256(content.data).hexdigest()}",
        occurred_at=document.dated or _moment(content.mtime_ns),
        title=document.title,
    )


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"The text is not UTF-8 (byte {error.start}).") from error


def _moment(mtime_ns: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(mtime_ns / 1_000_000_000, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _digest_in(version: str) -> str:
    return version.rpartition(":")[2]


def _shown(path: str) -> str:
    """A name that can be stored and shown, whatever bytes it is made of."""
    text = path.encode("utf-8", "backslashreplace").decode()
    printable = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return mask_secrets(printable).text[:NAME_CHARACTERS]
