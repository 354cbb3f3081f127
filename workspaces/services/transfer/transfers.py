"""Exports and imports as a workspace's admins ask for them: queued, run by a worker, looked at."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.db import IntegrityError, connection
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from holamem import faults
from holamem.clock import now
from holamem.database.scope import system_scope, workspace_scope
from holamem.environment import get_environment
from holamem.errors import (
    Conflict,
    HolamemError,
    InvalidInput,
    NotFound,
    ProviderError,
    StorageRefused,
)
from holamem.ids import new_id
from workspaces.bodies import body_storage
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.transfers import Transfer
from workspaces.services.audit import record
from workspaces.services.erasure.cleaners import ErasedMemory, register_cleaner
from workspaces.services.jobs import ClaimedJob, add_job, require_lease
from workspaces.services.principals import Principal
from workspaces.services.transfer.archives import (
    archive_name,
    digest_of,
    looks_like_archive,
    readable_archive,
    receive,
    remove_archive,
    written_archive,
)
from workspaces.services.transfer.loading import Imported, Verify, import_archive
from workspaces.services.transfer.making import export_workspace

logger = logging.getLogger(__name__)

ARCHIVE_HOURS = 24  # as long as an answer to an idempotency key
PROGRESS_SECONDS = 2.0  # between two notes of how far it is
BATCH = 100
RUNNING = (Transfer.State.QUEUED, Transfer.State.RUNNING)


def request_export(workspace: Workspace, *, principal: Principal) -> Transfer:
    """Raises Conflict while another export of the workspace is under way."""
    transfer = Transfer(
        workspace=workspace,
        scope_id=workspace.pk,
        kind=Transfer.Kind.EXPORT,
        requested_by=principal.label,
    )
    return _queue(workspace, transfer=transfer, principal=principal)


def request_import(
    workspace: Workspace,
    *,
    principal: Principal,
    content: Iterable[bytes],
    on_received: Callable[[str], None] = lambda sha256: None,
) -> Transfer:
    """`content` are the bytes of the archive.

    `on_received` is told their digest before anything is noted; what it raises ends the import.
    Raises Conflict, InvalidInput, PayloadTooLarge, StorageRefused.
    """
    transfer = Transfer(
        id=new_id(),
        workspace=workspace,
        scope_id=workspace.pk,
        kind=Transfer.Kind.IMPORT,
        requested_by=principal.label,
    )
    name = archive_name(workspace, transfer=transfer)
    with written_archive(name) as path:
        size, digest = receive(path, content=content, max_bytes=get_environment().import_max_bytes)
        if not looks_like_archive(path):
            raise InvalidInput("This is no archive of a workspace.", field="archive")
    transfer.archive_path, transfer.archive_bytes, transfer.archive_sha256 = name, size, digest
    try:
        on_received(digest)
        return _queue(workspace, transfer=transfer, principal=principal)
    except BaseException:
        remove_archive(name)
        raise


def _queue(workspace: Workspace, *, transfer: Transfer, principal: Principal) -> Transfer:
    topics = {
        Transfer.Kind.EXPORT: Job.Topic.WORKSPACE_EXPORT,
        Transfer.Kind.IMPORT: Job.Topic.WORKSPACE_IMPORT,
    }
    try:
        with workspace_scope(workspace):
            transfer.save(force_insert=True)
            topic = topics[Transfer.Kind(transfer.kind)]
            add_job(workspace, topic=topic, target_id=transfer.id, scope_id=workspace.pk)
            record(
                workspace,
                principal=principal,
                action=f"workspace.{transfer.kind}_requested",
                target_id=transfer.id,
                detail={"bytes": transfer.archive_bytes, "sha256": transfer.archive_sha256},
            )
    except IntegrityError as error:
        raise Conflict(f"Another {transfer.kind} of this workspace is under way.") from error
    return transfer


def find_transfer(workspace: Workspace, *, kind: str, transfer_id: UUID) -> Transfer:
    """Raises NotFound."""
    with workspace_scope(workspace):
        transfer = workspace.transfers.filter(id=transfer_id, kind=kind).first()
    if transfer is None:
        raise NotFound(f"There is no such {kind}.")
    return transfer


def newest_transfers(workspace: Workspace, *, limit: int = 20) -> Sequence[Transfer]:
    with workspace_scope(workspace):
        return list(workspace.transfers.order_by("-id")[:limit])


def kept_archive(workspace: Workspace, *, transfer: Transfer) -> AbstractContextManager[Path]:
    """Of an export that is done. Raises NotFound when it is not, or no longer, kept."""
    is_kept = transfer.state == Transfer.State.DONE and transfer.archive_path
    if not is_kept or not body_storage().exists(transfer.archive_path):
        raise NotFound("There is no archive of this export.")
    return readable_archive(transfer.archive_path)


def run_export(workspace: Workspace, job: ClaimedJob) -> None:
    """Handler of `workspace.export`."""
    transfer = _begin(workspace, job=job)
    if transfer is None:
        return
    name = archive_name(workspace, transfer=transfer)
    try:
        with written_archive(name) as path:
            done = export_workspace(workspace, path=path, on_progress=_Noted(workspace, transfer))
            transfer.archive_sha256 = digest_of(path)
    except HolamemError as error:
        _settle_error(workspace, transfer=transfer, error=error)
        return
    transfer.archive_path, transfer.archive_bytes = name, done.bytes
    transfer.counts = {"rows": done.rows, "files": done.files}
    faults.point("export.before_done")
    with workspace_scope(workspace):
        require_lease(job)
        _finish(transfer, state=Transfer.State.DONE)


def run_import(workspace: Workspace, job: ClaimedJob, *, verify: Verify) -> None:
    """Handler of `workspace.import`. Taken up again after a crash, it starts over."""
    transfer = _begin(workspace, job=job)
    if transfer is None:
        return

    def in_step() -> None:
        require_lease(job)
        _finish(transfer, state=Transfer.State.DONE)

    try:
        with readable_archive(transfer.archive_path) as path:
            done = import_archive(
                workspace,
                path=path,
                seed=transfer.id,
                verify=verify,
                in_step=in_step,
                on_progress=_Noted(workspace, transfer),
            )
    except HolamemError as error:
        _settle_error(workspace, transfer=transfer, error=error)
        return
    _note_counts(workspace, transfer=transfer, done=done)
    _drop_archive(workspace, transfer=transfer)


def _begin(workspace: Workspace, *, job: ClaimedJob) -> Transfer | None:
    """None when there is nothing left to do."""
    with workspace_scope(workspace):
        transfer = workspace.transfers.filter(id=job.target_id, state__in=RUNNING).first()
        if transfer is not None:
            transfer.state = Transfer.State.RUNNING
            transfer.save(update_fields=["state"])
    return transfer


def _settle_error(workspace: Workspace, *, transfer: Transfer, error: HolamemError) -> None:
    """What may pass is the ledger's to repeat; the rest is told to who asked. Raises the former."""
    if isinstance(error, ProviderError | StorageRefused):
        raise error
    transfer.error = f"{error.code}: {error.message}"
    with workspace_scope(workspace):
        _finish(transfer, state=Transfer.State.FAILED)
    if transfer.kind == Transfer.Kind.IMPORT:
        _drop_archive(workspace, transfer=transfer)


def _finish(transfer: Transfer, *, state: str) -> None:
    """Inside the caller's step."""
    transfer.state, transfer.finished_at = state, now()
    transfer.progress = {}
    transfer.save()


def _note_counts(workspace: Workspace, *, transfer: Transfer, done: Imported) -> None:
    transfer.counts = {"rows": done.rows, "files": done.files, "kept_ids": done.kept_ids}
    with workspace_scope(workspace):
        transfer.save(update_fields=["counts"])


def _drop_archive(workspace: Workspace, *, transfer: Transfer) -> None:
    """The file first, so that a crash in between only repeats it."""
    remove_archive(transfer.archive_path)
    with workspace_scope(workspace):
        workspace.transfers.filter(id=transfer.id).update(archive_path="")


class _Noted:
    """Writes down how far it is, not more often than people look.

    Not inside a step, which nobody would see before its end.
    """

    def __init__(self, workspace: Workspace, transfer: Transfer) -> None:
        self._workspace, self._transfer = workspace, transfer
        self._noted_at = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        is_soon = time.monotonic() - self._noted_at < PROGRESS_SECONDS
        if is_soon or connection.in_atomic_block:
            return
        self._noted_at = time.monotonic()
        progress = {"what": what, "done": done, "total": total}
        with system_scope():
            self._workspace.transfers.filter(id=self._transfer.id).update(progress=progress)


def sweep_transfers() -> None:
    """Of all workspaces: what nobody will end is ended, and what nobody fetched is removed."""
    _end_abandoned()
    _remove_old_archives()


def _end_abandoned() -> None:
    """Their jobs were parked or cancelled: a worker died with them three times, or a person."""
    at_work = Job.objects.filter(
        target_id=OuterRef("id"), state__in=(Job.State.READY, Job.State.RUNNING)
    )
    with system_scope():
        unfinished = Transfer.objects.filter(state__in=RUNNING)
        unfinished.filter(~Exists(at_work), created_at__lt=Now() - timedelta(minutes=1)).update(
            state=Transfer.State.FAILED, finished_at=Now(), progress={}, error="It was given up."
        )


def _remove_old_archives() -> None:
    """After a day, in portions."""
    with system_scope():
        old = Transfer.objects.exclude(archive_path="").exclude(state__in=RUNNING)
        found = list(old.filter(created_at__lt=Now() - timedelta(hours=ARCHIVE_HOURS))[:BATCH])
    for transfer in found:
        remove_archive(transfer.archive_path)
    with system_scope():
        Transfer.objects.filter(id__in=[row.id for row in found]).update(archive_path="")


def register_erasing() -> None:
    """Called once when the app is ready: an archive holds what is erased."""
    register_cleaner("archives", in_job=_remove_all, at_once=_forget_all)


def _forget_all(workspace: Workspace, memory: ErasedMemory) -> int:
    """No archive of the workspace can be fetched from now on; the files go in the job."""
    with system_scope():
        kept = workspace.transfers.filter(kind=Transfer.Kind.EXPORT, state=Transfer.State.DONE)
        return kept.exclude(archive_path="").update(
            state=Transfer.State.FAILED, error="erased: Memory was erased since. Export again."
        )


def _remove_all(workspace: Workspace, memory: ErasedMemory) -> int:
    with system_scope():
        exports = workspace.transfers.filter(kind=Transfer.Kind.EXPORT).exclude(archive_path="")
        found = list(exports.exclude(state__in=RUNNING))
    for transfer in found:
        _drop_archive(workspace, transfer=transfer)
    return len(found)
