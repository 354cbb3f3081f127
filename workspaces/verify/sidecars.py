"""Sidecars: what changed after birth is mirrored beside the bodies, for a rebuild from them."""

from collections.abc import Iterator

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from workspaces.body_paths import scope_directory
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import Tree
from workspaces.services.rebuild.documents import Refused
from workspaces.services.rebuild.found import read_document
from workspaces.services.rebuild.heads import MirroredState
from workspaces.services.rebuild.sidecar import is_workspace_mirrored, sidecar_path
from workspaces.services.rebuild.state import tree_state
from workspaces.verify.findings import Check, Severity, Violation

REWRITE = "`verify --fix` writes it again."
LOOKS = 2  # the second look comes after whatever changed meanwhile was mirrored
LIVE_JOBS = (Job.State.READY, Job.State.RUNNING, Job.State.PARKED)


def stale_sidecars(workspace: Workspace) -> Iterator[Violation]:
    """Trees without a pass that will write it: a change always queues one."""
    for tree in _trees(workspace):
        faults = [_fault(workspace, tree=tree) for _ in range(LOOKS)]
        if all(faults) and tree.mirrored_state and not _has_pass(workspace, tree=tree):
            yield Violation(f"tree:{tree.id}", faults[-1])


def missing_sidecars(workspace: Workspace) -> Iterator[Violation]:
    for tree in _trees(workspace):
        if not tree.mirrored_state and not _has_pass(workspace, tree=tree):
            yield Violation(f"tree:{tree.id}")


def stale_workspace_files(workspace: Workspace) -> Iterator[Violation]:
    """Written with the first sidecar; a workspace without memory needs none."""
    mirrored = any(tree.mirrored_state for tree in _trees(workspace))
    if mirrored and not any(is_workspace_mirrored(workspace) for _ in range(LOOKS)):
        yield Violation(f"workspace:{workspace.pk}")


def _trees(workspace: Workspace) -> list[Tree]:
    with system_scope():
        return list(workspace.trees.order_by("id"))


def _fault(workspace: Workspace, *, tree: Tree) -> str:
    with workspace_scope(workspace, ALL_SCOPES):
        state = tree_state(workspace, tree_id=tree.id)
    path = sidecar_path(scope_directory(workspace, tree=tree))
    try:
        written = read_document(path, kind=MirroredState).state_sha256
    except Refused as error:
        return str(error)
    is_same = state is not None and state.is_mirrored and written == state.digest
    return "" if is_same else "the state of the tree is another one"


def _has_pass(workspace: Workspace, *, tree: Tree) -> bool:
    with system_scope():
        jobs = workspace.jobs.filter(topic=Job.Topic.TREE_DIRTY, target_id=tree.id)
        return jobs.filter(state__in=LIVE_JOBS).exists()


CHECKS = (
    Check(
        "B9",
        "The sidecar of a tree says what the database says, or a pass over the tree is queued.",
        stale_sidecars,
        REWRITE,
    ),
    Check(
        "B9",
        "A tree has a sidecar, or a pass over it is queued.",
        missing_sidecars,
        REWRITE,
        Severity.WARNING,
    ),
    Check(
        "B9",
        "The file of a workspace says what the database says.",
        stale_workspace_files,
        REWRITE,
    ),
)
