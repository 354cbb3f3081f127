"""Bodies: every row has its file, unchanged, at its derived place, and no file lacks a row."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath
from uuid import UUID

from django.core.files.storage import FileSystemStorage

from holamem.clock import now
from holamem.database.scope import system_scope
from workspaces.bodies import FILE_MODE, TEMPORARY_SUFFIX, BodyMissing, body_storage, read_bytes
from workspaces.body_paths import leaf_path, retired_path, summary_path, tree_directory
from workspaces.models.tenancy import EndUser, Workspace
from workspaces.models.trees import GONE_LEAVES, RetiredBody, SourceLeaf, SummaryNode, Tree
from workspaces.verify.findings import Check, Severity, Violation, rows

GRACE = timedelta(hours=1)  # a file is written before its row commits
BODY_BYTES_MAX = 4 * 1024 * 1024
RESTORE = "Restore the file from a backup."
# Quarantined summaries are left out: their text may be gone already.
READABLE_SUMMARIES = (SummaryNode.Status.SEALED, SummaryNode.Status.STALE)


@dataclass(frozen=True, slots=True)
class BodyRow:
    """What a row says about its file; `level` is 0 for leaves."""

    kind: str
    id: UUID
    tree_id: UUID
    level: int
    status: str
    path: str
    sha256: str
    size: int

    @property
    def object(self) -> str:
        return f"{self.kind}:{self.id}"


def leaf_rows(workspace: Workspace) -> list[BodyRow]:
    with system_scope():
        found = workspace.leaves.exclude(status__in=GONE_LEAVES).values_list(
            "id", "tree_id", "status", "body_path", "body_sha256", "body_bytes"
        )
        return [BodyRow("leaf", row[0], row[1], 0, *row[2:]) for row in found]


def summary_rows(workspace: Workspace) -> list[BodyRow]:
    with system_scope():
        found = workspace.summaries.filter(status__in=READABLE_SUMMARIES).values_list(
            "id", "tree_id", "level", "status", "body_path", "body_sha256", "body_bytes"
        )
        return [BodyRow("summary", *row) for row in found]


def missing_leaf_bodies(workspace: Workspace) -> Iterator[Violation]:
    return _missing(leaf_rows(workspace))


def missing_summary_bodies(workspace: Workspace) -> Iterator[Violation]:
    return _missing(summary_rows(workspace))


def _missing(found: list[BodyRow]) -> Iterator[Violation]:
    storage = body_storage()
    for row in found:
        if not storage.exists(row.path):
            yield Violation(row.object, row.path)


def changed_bodies(workspace: Workspace) -> Iterator[Violation]:
    """One read of every file; a missing one is another check's finding."""
    for row in (*leaf_rows(workspace), *summary_rows(workspace)):
        try:
            data = read_bytes(row.path)
        except BodyMissing:
            continue
        if hashlib.sha256(data).hexdigest() != row.sha256 or len(data) != row.size:
            yield Violation(row.object, row.path)


def unreadable_bodies(workspace: Workspace) -> Iterator[Violation]:
    for row in (*leaf_rows(workspace), *summary_rows(workspace)):
        try:
            fault = _text_fault(read_bytes(row.path))
        except BodyMissing:
            continue
        if fault:
            yield Violation(row.object, fault)


def _text_fault(data: bytes) -> str:
    if len(data) > BODY_BYTES_MAX:
        return f"{len(data)} bytes"
    if b"\0" in data:
        return "holds NUL"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "is not UTF-8"
    return ""


def misplaced_bodies(workspace: Workspace) -> Iterator[Violation]:
    """The path follows from the row; on a local disk it is a plain private file under the root."""
    directories = tree_directories(workspace)
    for row in (*leaf_rows(workspace), *summary_rows(workspace)):
        if row.path != derived_path(row, directory=directories.get(row.tree_id, "")):
            yield Violation(row.object, row.path)
        elif fault := _file_fault(row.path):
            yield Violation(row.object, fault)


def tree_directories(workspace: Workspace) -> dict[UUID, str]:
    with system_scope():
        slugs = dict(EndUser.objects.filter(workspace=workspace).values_list("id", "slug"))
        trees = list(Tree.objects.filter(workspace=workspace))
    return {
        tree.id: tree_directory(workspace, tree=tree, user_slug=slugs.get(tree.scope_id))
        for tree in trees
    }


def derived_path(row: BodyRow, *, directory: str) -> str:
    if row.kind == "leaf":
        return leaf_path(directory, leaf_id=row.id)
    return summary_path(directory, level=row.level, summary_id=row.id)


def _file_fault(path: str) -> str:
    storage = body_storage()
    if not isinstance(storage, FileSystemStorage):
        return ""
    file = Path(storage.path(path))
    try:
        status = os.lstat(file)
    except FileNotFoundError:
        return ""
    root = Path(storage.base_location).resolve()
    if not stat.S_ISREG(status.st_mode) or not file.resolve().is_relative_to(root):
        return "is not a plain file under the root"
    mode = stat.S_IMODE(status.st_mode)
    return "" if mode == FILE_MODE else f"has mode {mode:04o}"


def orphaned_files(workspace: Workspace) -> Iterator[Violation]:
    """Files are listed before rows, so that a write in between is never taken for an orphan."""
    storage = body_storage()
    files = list(_walk(f"{workspace.tenant.slug}/{workspace.slug}/memory"))
    known = known_paths(workspace)
    deadline = now() - GRACE
    for path in files:
        if path not in known and storage.get_modified_time(path) < deadline:
            yield Violation(f"file:{path}")


def known_paths(workspace: Workspace) -> set[str]:
    """Paths of rows, and those that were given up and expire on their own."""
    with system_scope():
        leaves = workspace.leaves.exclude(status=SourceLeaf.Status.ERASED)
        summaries = workspace.summaries.exclude(status=SummaryNode.Status.RETIRED)
        return {
            *leaves.values_list("body_path", flat=True),
            *summaries.values_list("body_path", flat=True),
            *RetiredBody.objects.filter(workspace=workspace).values_list("path", flat=True),
        }


def _walk(directory: str) -> Iterator[str]:
    """Bodies and temporary files below a directory; nothing when there is none."""
    storage = body_storage()
    try:
        directories, files = storage.listdir(directory)
    except FileNotFoundError:
        return
    for name in files:
        if name.endswith((".md", TEMPORARY_SUFFIX)):
            yield f"{directory}/{name}"
    for name in directories:
        yield from _walk(f"{directory}/{name}")


def missing_retired_bodies(workspace: Workspace) -> Iterator[Violation]:
    """A retired body stays readable until its day comes, unless nobody may read it any more."""
    storage = body_storage()
    with system_scope():
        unread = workspace.summaries.filter(withheld=True).values_list("id", flat=True)
        withheld = {str(summary_id) for summary_id in unread}
        kept = list(
            RetiredBody.objects.filter(workspace=workspace, expires_at__gt=now()).values_list(
                "id", "path"
            )
        )
    for row_id, path in kept:
        if PurePosixPath(path).stem not in withheld and not storage.exists(path):
            yield Violation(f"retired_body:{row_id}", path)


def retired_paths(workspace: Workspace) -> Iterator[Violation]:
    directories = tree_directories(workspace)
    with system_scope():
        found = list(
            workspace.summaries.filter(status=SummaryNode.Status.RETIRED).values_list(
                "id", "tree_id", "body_path"
            )
        )
    for summary_id, tree_id, path in found:
        if path != retired_path(directories.get(tree_id, ""), summary_id=summary_id):
            yield Violation(f"summary:{summary_id}", path)


CHECKS = (
    Check("B1", "A leaf that is not erased has its body file.", missing_leaf_bodies, RESTORE),
    Check("B2", "A body file is what was written, byte for byte.", changed_bodies, RESTORE),
    Check("B3", "A readable summary has its body file.", missing_summary_bodies, RESTORE),
    Check(
        "B4",
        "A body lies at the path that follows from its row, as a private plain file.",
        misplaced_bodies,
        "Move the file to its place, or correct its mode to 0600.",
    ),
    Check(
        "B4",
        "A retired summary names its place among the retired.",
        retired_paths,
        "Correct the path of the row.",
    ),
    Check(
        "B4",
        "A body that was given up stays until it expires.",
        missing_retired_bodies,
        "Nothing: an answer that was being built then may lack it.",
        Severity.WARNING,
    ),
    Check(
        "B5",
        "No two rows share a path.",
        rows(
            "file",
            "SELECT body_path, count(*) FROM (SELECT body_path FROM workspaces_sourceleaf"
            " WHERE workspace_id = %(workspace)s UNION ALL SELECT body_path"
            " FROM workspaces_summarynode WHERE workspace_id = %(workspace)s) AS paths"
            " WHERE body_path <> '' GROUP BY body_path HAVING count(*) > 1",
        ),
        "Restore the rows from a backup.",
    ),
    Check(
        "B6",
        "No file lies without a row for more than an hour.",
        orphaned_files,
        "`verify --fix` removes it.",
        Severity.WARNING,
    ),
    Check("B7", "A body is UTF-8 without NUL and within its size.", unreadable_bodies, RESTORE),
)
