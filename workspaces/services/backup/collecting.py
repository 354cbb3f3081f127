"""The files of a backup: every body that the snapshot names, and the journal of erasures.

They are copied after the snapshot has ended. A body never changes, and one that is given up
stays for a day. Sidecars are not copied: a restore writes them from its database.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence

from django.db import connection

from holamem.database.scope import system_scope
from holamem.errors import HolamemError
from workspaces.bodies import BodyMissing, body_storage, read_bytes
from workspaces.services.backup.manifest import Problem, is_file_place
from workspaces.services.backup.snapshot import NamedFile
from workspaces.services.backup.writing import FileWriter
from workspaces.services.erasure.entry import JOURNAL_FOLDER

MISSING, DAMAGED, MISPLACED, UNREADABLE = "missing", "damaged", "misplaced", "unreadable"
PROGRESS_FILES = 500

OnProgress = Callable[[str, int, int], None]


def copy_bodies(
    named: Iterable[NamedFile], *, total: int, writer: FileWriter, on_progress: OnProgress
) -> list[Problem]:
    """Returns what is missing or is not what its row says. A damaged one is copied as it is."""
    problems = []
    for number, file in enumerate(named, 1):
        reason = _copy(file, writer=writer)
        if reason and not _is_erased(file.object):
            problems.append(Problem(object=file.object, path=file.path, reason=reason))
        if number % PROGRESS_FILES == 0 or number == total:
            on_progress("bodies", number, total)
    return problems


def _copy(file: NamedFile, *, writer: FileWriter) -> str:
    if not is_file_place(file.path):
        return MISPLACED
    try:
        data = read_bytes(file.path)
    except BodyMissing:
        return MISSING if file.required else ""
    except (HolamemError, OSError):  # a bad sector must not keep all the others out
        return UNREADABLE
    writer.add(file.path, data)
    is_intact = not file.sha256 or hashlib.sha256(data).hexdigest() == file.sha256
    return "" if is_intact else DAMAGED


def _is_erased(name: str) -> bool:
    """Whether an erasure took it since the snapshot; it is in the journal before its file goes."""
    kind, _, row_id = name.partition(":")
    query = _ERASED.get(kind)
    if query is None:
        return False
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(query, [row_id])
        return cursor.fetchone() is not None


_ERASED = {
    "leaf": "SELECT 1 FROM workspaces_sourceleaf WHERE id = %s AND status IN ('erasing', 'erased')",
    "summary": "SELECT 1 FROM workspaces_summarynode WHERE id = %s AND withheld",
}


def copy_journals(folders: Sequence[str], *, writer: FileWriter) -> int:
    """After the bodies, so that every erasure that took one of them is in it."""
    copied = 0
    for folder in folders:
        for name in _entries(f"{folder}/{JOURNAL_FOLDER}"):
            writer.add(name, read_bytes(name))
            copied += 1
    return copied


def _entries(folder: str) -> list[str]:
    try:
        _, names = body_storage().listdir(folder)
    except FileNotFoundError:
        return []
    return [f"{folder}/{name}" for name in sorted(names) if name.endswith(".json")]
