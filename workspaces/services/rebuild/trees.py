"""Writing all summaries of a tree again, and its search entries, while readers go on reading.

Every live summary is marked stale; the usual pass replaces them from the bottom up, and each
stays readable until its replacement commits.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from holamem.database.scope import workspace_scope
from workspaces import access
from workspaces.index.entries import set_entry_status
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SummaryNode, Tree
from workspaces.services import audit
from workspaces.services.end_users import end_user_scope
from workspaces.services.indexing import EMBEDDED_LEAVES, EMBEDDED_SUMMARIES
from workspaces.services.jobs import ClaimedJob, add_job, require_lease
from workspaces.services.operators import operator_principal
from workspaces.services.principals import Principal
from workspaces.services.reindexing import reindex_node
from workspaces.services.topology import request_seal

Scopes = Sequence[UUID] | str | None
REINDEX_PRIORITY = 170  # after the summaries: their entries are written with them
PASS_SECONDS = 60  # far below the queue's limit for one task


@dataclass(frozen=True, slots=True)
class TreeRebuild:
    """What was queued: `summaries` will be written again."""

    tree_id: UUID
    summaries: int
    audit_id: UUID


def rebuild_tree(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, key: str
) -> TreeRebuild:
    """Queue it. What is quarantined stays unread and is replaced as before. Raises NotFound."""
    tree = access.get_tree(workspace, scopes=scopes, key=key)
    with workspace_scope(workspace, [tree.scope_id]):
        locked = workspace.trees.select_for_update().get(id=tree.id)
        ids = _mark_stale(workspace, tree=locked)
        request_seal(workspace, tree=locked)
        add_job(
            workspace,
            topic=Job.Topic.TREE_REINDEX,
            target_id=locked.id,
            scope_id=locked.scope_id,
            priority=REINDEX_PRIORITY,
        )
        audit_id = audit.record(
            workspace,
            principal=principal,
            action="tree.rebuilt",
            target_id=locked.id,
            detail={"tree": locked.key, "summaries": len(ids)},
            scope_id=locked.scope_id,
        )
    return TreeRebuild(tree.id, len(ids), audit_id)


def _mark_stale(workspace: Workspace, *, tree: Tree) -> list[UUID]:
    live = workspace.summaries.filter(tree=tree, status__in=EMBEDDED_SUMMARIES)
    ids = list(live.values_list("id", flat=True))
    workspace.summaries.filter(id__in=ids).update(status=SummaryNode.Status.STALE)
    set_entry_status(workspace, node_ids=ids, status=SummaryNode.Status.STALE)
    return ids


def reindex_tree(workspace: Workspace, job: ClaimedJob) -> None:
    """Handler of `tree.reindex`: lexemes again from the bodies, and vectors that are missing.

    `after` in the payload is the node that an earlier turn ended with.
    """
    deadline = time.monotonic() + PASS_SECONDS
    for node_id in _searchable(workspace, job=job, after=str(job.payload.get("after", ""))):
        reindex_node(workspace, node_id=node_id)
        _embed_missing(workspace, job=job, node_id=node_id)
        if time.monotonic() > deadline:
            _go_on_later(workspace, job=job, after=node_id)
            return


def _searchable(workspace: Workspace, *, job: ClaimedJob, after: str) -> list[UUID]:
    with workspace_scope(workspace, [job.scope_id]):
        leaves = workspace.leaves.filter(
            tree=job.target_id, status__in=EMBEDDED_LEAVES, forgotten_at=None
        )
        nodes = workspace.summaries.filter(tree=job.target_id, status__in=EMBEDDED_SUMMARIES)
        ids = [*leaves.values_list("id", flat=True), *nodes.values_list("id", flat=True)]
    return sorted(node_id for node_id in ids if str(node_id) > after)


def _embed_missing(workspace: Workspace, *, job: ClaimedJob, node_id: UUID) -> None:
    with workspace_scope(workspace, [job.scope_id]):
        if not workspace.vector_entries.filter(node_id=node_id).exists():
            add_job(
                workspace,
                topic=Job.Topic.NODE_CREATED,
                target_id=node_id,
                scope_id=job.scope_id,
            )


def _go_on_later(workspace: Workspace, *, job: ClaimedJob, after: UUID) -> None:
    """A request that came meanwhile is ready already, and starts from the beginning."""
    with workspace_scope(workspace, [job.scope_id]):
        require_lease(job)
        add_job(
            workspace,
            topic=job.topic,
            target_id=job.target_id,
            scope_id=job.scope_id,
            payload={"after": str(after)},
            priority=REINDEX_PRIORITY,
        )


def rebuild_tree_as_operator(
    workspace: Workspace, *, key: str, user_ref: str | None
) -> TreeRebuild:
    """For the command, whose caller may see every tenant: the shared tree, or an end user's."""
    principal = operator_principal(workspace, label="rebuild_tree")
    scope_id = end_user_scope(workspace, ref=user_ref)
    return rebuild_tree(workspace, principal=principal, scopes=[scope_id], key=key)
