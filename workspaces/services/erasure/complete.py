"""Handler of `erase`: what is left to do after the request, step by step.

Each step may run again: a worker that is killed anywhere leaves work that the next one ends.
Nothing is deleted before the journal has it, and the words are needed to find their traces, so
that traces go before files and files before the last step.
"""

from collections import Counter
from uuid import UUID

from holamem import faults
from holamem.clock import now
from holamem.database.scope import eraser_scope, workspace_scope
from holamem.errors import ProviderError
from workspaces.index.entries import drop_entries
from workspaces.models.erasure import Erasure
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.erasure.cleaners import (
    ErasedMemory,
    clean_traces,
    leaf_ids_of,
    summary_ids_of,
    tree_ids_of,
)
from workspaces.services.erasure.entry import write_entry
from workspaces.services.erasure.family import family_of
from workspaces.services.erasure.files import (
    node_of,
    remove_everywhere,
    remove_files,
    texts_of,
)
from workspaces.services.erasure.request import EVERYWHERE
from workspaces.services.erasure.subjects import (
    forget_names,
    remove_folders,
    subjects_of,
    unlink,
)
from workspaces.services.erasure.taking import lock_family, take_out
from workspaces.services.erasure.users import forget_folder, remove_all_files, take_all
from workspaces.services.jobs import ClaimedJob, require_lease
from workspaces.services.topology import request_seal


def complete_erasure(workspace: Workspace, job: ClaimedJob) -> None:
    """A body store that does not answer is waited for, without an end of the attempts."""
    erasure = _take_up(workspace, job=job)
    if erasure is None:
        return
    faults.point("erase.taken_up")
    _take_late_ones(workspace, job=job, erasure=erasure)
    faults.point("erase.late_ones_taken")
    try:
        folders = _remove(workspace, job=job, erasure=erasure)
        remove_folders(workspace, folders=folders)
    except OSError as error:
        raise ProviderError("The body store does not answer.", retryable=True) from error


def _take_up(workspace: Workspace, *, job: ClaimedJob) -> Erasure | None:
    with workspace_scope(workspace, [job.scope_id]):
        open_ones = workspace.erasures.exclude(status=Erasure.Status.COMPLETE)
        open_ones.filter(id=job.target_id).update(status=Erasure.Status.RUNNING)
        return open_ones.filter(id=job.target_id).first()


def _take_late_ones(workspace: Workspace, *, job: ClaimedJob, erasure: Erasure) -> None:
    """Leaves with the text that were committed beside the request, in trees it did not hold."""
    with workspace_scope(workspace, [job.scope_id]):
        if erasure.is_whole_scope:
            take_all(workspace, erasure=erasure)
            require_lease(job)
            return
        leaves = lock_family(
            workspace,
            family=lambda: family_of(
                workspace,
                leaf_ids=leaf_ids_of(erasure),
                only_these=erasure.only_this,
                before=erasure.requested_at,
            ),
            tree_ids=tree_ids_of(erasure),
        )
        require_lease(job)
        if leaves:
            take_out(workspace, erasure=erasure, leaves=leaves)


def _remove(workspace: Workspace, *, job: ClaimedJob, erasure: Erasure) -> list[str]:
    write_entry(workspace, erasure=erasure)
    faults.point("erase.after_journal")
    traces = clean_traces(workspace, memory=_memory(workspace, erasure=erasure))
    faults.point("erase.after_traces")
    remove_files(workspace, erasure=erasure)
    if erasure.is_whole_scope:
        remove_all_files(workspace, scope_id=erasure.scope_id)
    if job.payload.get(EVERYWHERE):
        remove_everywhere(workspace, erasure=erasure)
    faults.point("erase.after_files")
    folders = _finish(workspace, job=job, erasure=erasure, traces=traces)
    faults.point("erase.after_commit")
    return folders


def _memory(workspace: Workspace, *, erasure: Erasure) -> ErasedMemory:
    leaf_ids = leaf_ids_of(erasure)
    return ErasedMemory(
        scope_id=erasure.scope_id,
        leaf_ids=leaf_ids,
        summary_ids=summary_ids_of(erasure),
        texts=texts_of(workspace, leaf_ids=leaf_ids, scope_id=erasure.scope_id),
        is_whole_scope=erasure.is_whole_scope,
    )


def _finish(
    workspace: Workspace, *, job: ClaimedJob, erasure: Erasure, traces: dict[str, int]
) -> list[str]:
    """Links, names and the receipt, in one step. Returns the folders of forgotten subjects."""
    leaf_ids = leaf_ids_of(erasure)
    with workspace_scope(workspace, [erasure.scope_id]):
        trees = list(
            workspace.trees.select_for_update().filter(id__in=tree_ids_of(erasure)).order_by("id")
        )
        links, named = unlink(workspace, leaf_ids=leaf_ids)
        if erasure.is_whole_scope:
            named |= subjects_of(workspace, scope_id=erasure.scope_id)
        forgotten = forget_names(workspace, entity_ids=named, is_gone=erasure.is_whole_scope)
        require_lease(job)
        _clear_what_is_left(workspace, erasure=erasure)
        counts = Counter(erasure.counts) + Counter(links=links, entities=forgotten.count, **traces)
        workspace.erasures.filter(id=erasure.id).update(
            status=Erasure.Status.COMPLETE, completed_at=now(), counts=dict(counts)
        )
        # The mirrors on disk are written again, whatever a restore may have put there.
        workspace.trees.filter(id__in=[tree.id for tree in trees]).update(mirrored_state="")
        for tree in trees:
            request_seal(workspace, tree=tree)
        if erasure.is_whole_scope:
            forgotten.folders.extend(forget_folder(workspace, scope_id=erasure.scope_id))
        faults.point("erase.before_commit")
    return forgotten.folders


def _clear_what_is_left(workspace: Workspace, *, erasure: Erasure) -> None:
    """Entries that another worker put back meanwhile, paths of files, and words of failures."""
    leaf_ids, summary_ids = leaf_ids_of(erasure), summary_ids_of(erasure)
    nodes = [*leaf_ids, *summary_ids]
    drop_entries(workspace, node_ids=nodes)
    events = [UUID(entry["event_id"]) for entry in erasure.tombstones["events"]]
    workspace.jobs.filter(target_id__in=[*nodes, *events]).exclude(error="").update(error="")
    workspace.leaves.filter(id__in=leaf_ids).update(status=SourceLeaf.Status.ERASED)
    gone = set(map(str, nodes))
    rows = workspace.retired_bodies.filter(scope_id=erasure.scope_id).values_list("id", "path")
    given_up = [row_id for row_id, path in rows if node_of(path) in gone]
    with eraser_scope():
        workspace.retired_bodies.filter(id__in=given_up).delete()
