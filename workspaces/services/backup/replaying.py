"""After the rows: what was erased since the backup is erased again, and sidecars are written."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.core.files.base import ContentFile
from django.db.models.functions import Now

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.errors import Conflict, InvalidInput
from workspaces.bodies import body_storage
from workspaces.models.erasure import Erasure
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.backup.reading import FILE_BYTES_MAX, OnProgress
from workspaces.services.erasure.entry import ENTRY_FORMAT, JOURNAL_FOLDER, journal_directory
from workspaces.services.erasure.journal import replay_erasures
from workspaces.services.jobs import claim_job, draining
from workspaces.services.operators import find_workspaces
from workspaces.services.rebuild.sidecar import WORKSPACE_FILE, mirror_tree, mirror_workspace
from workspaces.services.worker import run_job


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One erasure as the old installation recorded it."""

    workspace_id: UUID
    erasure_id: UUID
    data: bytes


@dataclass(frozen=True, slots=True)
class Replayed:
    """`again`: erasures that the backup did not know as complete. `unfinished`: still to be done
    by a worker, although nothing of them is read. `elsewhere`: of workspaces the backup lacks.
    """

    again: int
    unfinished: list[str]
    elsewhere: int


def read_journal(folder: Path | None) -> list[JournalEntry]:
    """Of the data directory or the bodies of an old installation. Raises InvalidInput.

    What holds neither bodies nor a journal is refused: an erasure must not be passed over
    because of a slip in a path.
    """
    if folder is None:
        return []
    roots = [folder, folder / "bodies"]
    files = [path for root in roots for path in root.glob(f"*/*/{JOURNAL_FOLDER}/*.json")]
    markers = ("memory", WORKSPACE_FILE)
    if not files and not any(any(root.glob(f"*/*/{name}")) for root in roots for name in markers):
        raise InvalidInput(f"{folder} holds neither bodies nor a journal of erasures.")
    return [_entry(path) for path in sorted(files)]


def _entry(path: Path) -> JournalEntry:
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ValueError("too long")
        data = path.read_bytes()
        values = json.loads(data)
        if values["format"] != ENTRY_FORMAT:
            raise ValueError("another format")
        return JournalEntry(UUID(values["workspace"]), UUID(values["erasure_id"]), data)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(f"{path} is no entry of a journal of erasures.") from error


def replay(entries: Sequence[JournalEntry], *, on_progress: OnProgress) -> Replayed:
    """With those beside the bodies already. Raises Conflict for an entry of another workspace."""
    workspaces = find_workspaces()
    known = {workspace.pk: workspace for workspace in workspaces}
    for entry in entries:
        if entry.workspace_id in known:
            directory = journal_directory(known[entry.workspace_id])
            body_storage().save(f"{directory}/{entry.erasure_id}.json", ContentFile(entry.data))
    again = Counter[str]()
    with draining():
        for number, workspace in enumerate(workspaces, 1):
            again["all"] += _replay_in(workspace)
            on_progress("erasures of workspaces", number, len(workspaces))
        unfinished = [name for workspace in workspaces for name in _complete(workspace)]
    return Replayed(
        again=again["all"],
        unfinished=unfinished,
        elsewhere=sum(entry.workspace_id not in known for entry in entries),
    )


def _replay_in(workspace: Workspace) -> int:
    try:
        return replay_erasures(workspace, only_open=True)
    except (ValueError, KeyError) as error:
        raise Conflict(f"The journal of erasures cannot be read: {error}") from error


def _complete(workspace: Workspace) -> Iterator[str]:
    """Run every erasure that is due here, and name those that did not come to their end."""
    ready = workspace.jobs.filter(topic=Job.Topic.ERASE, state=Job.State.READY)
    with system_scope():
        ready.update(next_try_at=Now())
        job_ids = list(ready.order_by("id").values_list("id", flat=True))
    for job_id in job_ids:
        claimed = claim_job(job_id)
        if claimed is not None:
            run_job(claimed)
    with system_scope():
        rest = workspace.erasures.exclude(status=Erasure.Status.COMPLETE)
        yield from [f"{workspace.slug}: erasure {row}" for row in rest.values_list("id", flat=True)]


def mirror_all(*, on_progress: OnProgress) -> None:
    """The sidecars beside the bodies, from the database; none was in the backup."""
    workspaces = find_workspaces()
    for number, workspace in enumerate(workspaces, 1):
        with workspace_scope(workspace, ALL_SCOPES):
            workspace.trees.update(mirrored_state="")
            trees = list(workspace.trees.values_list("id", "scope_id"))
        for tree_id, scope_id in trees:
            mirror_tree(workspace, tree_id=tree_id, scope_id=scope_id)
        mirror_workspace(workspace)
        on_progress("sidecars of workspaces", number, len(workspaces))
