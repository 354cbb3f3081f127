"""What `verify --fix` may do: only what loses nothing and decides nothing.

Garbage is removed, missing jobs are queued, counts are taken again. Everything else needs a
person and a backup.
"""

from collections.abc import Callable, Iterable
from uuid import UUID

from django.db.models import Sum

from holamem.database.scope import ALL_SCOPES, workspace_scope
from workspaces.bodies import delete_bodies
from workspaces.index.entries import drop_entries
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree
from workspaces.services.entities.merge import reopen_merge_of, request_moves
from workspaces.services.entities.refresh import request_refresh
from workspaces.services.indexing import find_node
from workspaces.services.jobs import add_job, sweep
from workspaces.services.rebuild.sidecar import mirror_tree, mirror_workspace
from workspaces.services.reindexing import reindex_node
from workspaces.services.topology import mark_chain_stale, request_seal
from workspaces.verify.findings import Finding

Repair = Callable[[Workspace, str], None]


def repair_workspace(workspace: Workspace, *, findings: Iterable[Finding]) -> list[Finding]:
    """Repairs what may be repaired; returns the findings that were acted on.

    Jobs are only queued here: a later `verify` shows what they mended.
    """
    repaired = []
    for finding in findings:
        kind, _, name = finding.object.partition(":")
        repair = REPAIRS.get((finding.code, kind))
        if repair is not None:
            repair(workspace, name)
            repaired.append(finding)
    return repaired


def remove_file(workspace: Workspace, path: str) -> None:
    delete_bodies([path])


def recount_tree(workspace: Workspace, tree_id: str) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        tree = workspace.trees.select_for_update().get(id=tree_id)
        active = workspace.leaves.filter(tree=tree, status=SourceLeaf.Status.ACTIVE)
        tree.leaf_count = active.count()
        tree.save(update_fields=["leaf_count"])


def recount_summary(workspace: Workspace, summary_id: str) -> None:
    """The whole tree, from the bottom up: each count adds those below it."""
    with workspace_scope(workspace, ALL_SCOPES):
        tree = Tree.objects.get(workspace=workspace, summaries__id=summary_id)
        sealed = workspace.summaries.filter(tree=tree, status=SummaryNode.Status.SEALED)
        for node in sealed.order_by("height"):
            below = workspace.summaries.filter(id__in=node.child_ids)
            leaves = workspace.leaves.filter(id__in=node.child_ids).count()
            node.leaf_count = leaves + (below.aggregate(n=Sum("leaf_count"))["n"] or 0)
            node.save(update_fields=["leaf_count"])


def embed_node(workspace: Workspace, node_id: str) -> None:
    """The vector goes first: an entry that is there would satisfy the job."""
    with workspace_scope(workspace, ALL_SCOPES):
        node = find_node(workspace, node_id=UUID(node_id))
        if node is None:
            return
        workspace.vector_entries.filter(node_id=node_id).delete()
        add_job(workspace, topic=Job.Topic.NODE_CREATED, target_id=node.id, scope_id=node.scope_id)


def reindex_one(workspace: Workspace, node_id: str) -> None:
    reindex_node(workspace, node_id=UUID(node_id))


def drop_node_entries(workspace: Workspace, node_id: str) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        drop_entries(workspace, node_ids=[UUID(node_id)])


def queue_event(workspace: Workspace, event_id: str) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        event = workspace.events.get(id=event_id)
        add_job(
            workspace,
            topic=Job.Topic.EVENT_RECEIVED,
            target_id=event.id,
            scope_id=event.scope_id,
            priority=50,
        )


def sweep_jobs(workspace: Workspace, job_id: str) -> None:
    sweep()


def seal_tree(workspace: Workspace, tree_id: str) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        request_seal(workspace, tree=workspace.trees.get(id=tree_id))


def seal_tree_of_summary(workspace: Workspace, summary_id: str) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        tree = Tree.objects.get(workspace=workspace, summaries__id=summary_id)
        request_seal(workspace, tree=tree)


def replace_summary(workspace: Workspace, summary_id: str) -> None:
    """It does not match its children: it and all above it are made again from what is there."""
    with workspace_scope(workspace, ALL_SCOPES):
        mark_chain_stale(workspace, start=[UUID(summary_id)])
    seal_tree_of_summary(workspace, summary_id)


def return_to_buffer(workspace: Workspace, leaf_id: str) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        leaf = workspace.leaves.select_related("tree").get(id=leaf_id)
        workspace.leaves.filter(id=leaf.id).update(parent=None)
        request_seal(workspace, tree=leaf.tree)


def queue_merge(workspace: Workspace, merge_id: str) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        request_moves(workspace, merge=workspace.merges.get(id=merge_id))


def queue_merge_of_leaf(workspace: Workspace, leaf_id: str) -> None:
    """A leaf that came to life with a merged entity follows the others."""
    with workspace_scope(workspace, ALL_SCOPES):
        entity_id = workspace.leaves.values_list("entity_id", flat=True).get(id=leaf_id)
        if entity_id is not None:
            reopen_merge_of(workspace, entity_id=entity_id)


def refresh_entity(workspace: Workspace, entity_id: str) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        request_refresh(workspace, entities=[workspace.entities.get(id=entity_id)])


def mirror_again(workspace: Workspace, tree_id: str) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        tree = workspace.trees.get(id=tree_id)
        workspace.trees.filter(id=tree.id).update(mirrored_state="")
    mirror_tree(workspace, tree_id=tree.id, scope_id=tree.scope_id)


def mirror_workspace_again(workspace: Workspace, workspace_id: str) -> None:
    mirror_workspace(workspace)


REPAIRS: dict[tuple[str, str], Repair] = {
    ("B6", "file"): remove_file,
    ("B9", "tree"): mirror_again,
    ("B9", "workspace"): mirror_workspace_again,
    ("D1", "tree"): recount_tree,
    ("D4", "summary"): recount_summary,
    ("E1", "node"): embed_node,
    ("E2", "node"): embed_node,
    ("E5", "node"): embed_node,
    ("E6", "node"): reindex_one,
    ("E3", "node"): drop_node_entries,
    ("J3", "job"): sweep_jobs,
    ("J4", "job"): sweep_jobs,
    ("J5", "event"): queue_event,
    ("J6", "event"): queue_event,
    ("L5", "summary"): seal_tree_of_summary,
    ("N5", "leaf"): queue_merge_of_leaf,
    ("N6", "merge"): queue_merge,
    ("N7", "entity"): refresh_entity,
    ("T8", "summary"): replace_summary,
    ("T9", "leaf"): return_to_buffer,
    ("T9", "summary"): seal_tree_of_summary,
    ("T10", "tree"): seal_tree,
    ("T11", "summary"): replace_summary,
}
