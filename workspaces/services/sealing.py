"""Sealing a tree upward: read what is due, write the summary, switch the topology atomically.

The lease on the tree's job serialises passes; no lock is held while a judge writes. The commit
takes the tree row and re-checks what the plan rests on.
"""

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from workspaces.bodies import BodyMissing, copy_body
from workspaces.body_paths import retired_path, scope_directory, summary_path
from workspaces.index.entries import drop_entries, put_summary_lexemes, set_entry_status
from workspaces.judging.base import SummaryDraft
from workspaces.judging.registry import judge as configured_judge
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import RetiredBody, SourceLeaf, SummaryNode, Tree
from workspaces.services.jobs import ClaimedJob, add_job, require_lease
from workspaces.services.policies import lowest_trust
from workspaces.services.seal_plan import LIVE, Child, Step, child_key, next_step
from workspaces.services.summaries import (
    build_node,
    draft_summary,
    without_citations,
    write_summary_body,
)
from workspaces.services.topology import mark_chain_stale

logger = logging.getLogger(__name__)

RETIRED_HOURS = 24  # an answer that is being built may still hold the old path
PASS_SECONDS = 60  # a long pass gives other jobs a turn


class PlanChanged(RuntimeError):
    """The tree changed between plan and commit; plan again."""


@dataclass(frozen=True, slots=True)
class Move:
    """One file whose level changes because the tree grew or shrank."""

    node_id: UUID
    level: int
    old_path: str
    new_path: str


def seal_tree(workspace: Workspace, job: ClaimedJob) -> None:
    """Handler of `tree.dirty`: take step after step until nothing is due, or time is up."""
    deadline = time.monotonic() + PASS_SECONDS
    while (step := _plan(workspace, job=job)) is not None:
        with suppress(PlanChanged):
            perform(workspace, job=job, step=step)
        if time.monotonic() > deadline:
            _go_on_later(workspace, job=job)
            return


def _go_on_later(workspace: Workspace, *, job: ClaimedJob) -> None:
    with workspace_scope(workspace, [job.scope_id]):
        add_job(
            workspace, topic=job.topic, target_id=job.target_id, scope_id=job.scope_id, priority=150
        )


def _plan(workspace: Workspace, *, job: ClaimedJob) -> Step | None:
    with workspace_scope(workspace, [job.scope_id]):
        tree = workspace.trees.filter(id=job.target_id).first()
        if tree is None:
            return None
        return next_step(workspace, tree=tree, threshold=workspace.preferences.seal_threshold)


def perform(workspace: Workspace, *, job: ClaimedJob, step: Step) -> SummaryNode | None:
    """Write one step. Files first, then one transaction. Returns the new node, if any."""
    directory = scope_directory(workspace, tree=step.tree)
    height = _height_after(step)
    draft, node = None, None
    if step.kind in ("seal", "replace", "root"):
        judge = configured_judge()
        draft = draft_summary(step, judge=judge)
        faults.point("seal.after_draft")
        node = _new_node(workspace, step=step, directory=directory, height=height)
        build_node(step, draft=draft, node=node, model=judge.name)
        body = write_summary_body(node, tree_key=step.tree.key, body=draft.body)
        node.body_sha256, node.body_bytes = body.sha256, body.size
        faults.point("seal.after_file")
    moves = _copy_moves(workspace, step=step, directory=directory, height=height)
    retired_to = _copy_retired(step, directory=directory)
    faults.point("seal.before_swap")
    with workspace_scope(workspace, [step.tree.scope_id]):
        tree = workspace.trees.select_for_update().get(id=step.tree.id)
        require_lease(job)
        _recheck(workspace, tree=tree, step=step)
        _commit(workspace, tree=tree, step=step, node=node, draft=draft)
        faults.point("seal.in_swap")
        _apply_moves(workspace, tree=tree, moves=moves)
        _retire_old(workspace, step=step, path=retired_to)
        workspace.trees.filter(id=tree.id).update(height=height, updated_at=now())
    faults.point("seal.after_swap")
    logger.info(
        "tree.step",
        extra={"kind": step.kind, "height": step.height, "tree_id": str(step.tree.id)},
    )
    return node


def _height_after(step: Step) -> int:
    """The tree's height is its root's; a step that sets no root leaves it as it is."""
    if (step.becomes_root and step.kind != "retire") or step.kind == "promote":
        return step.height
    if step.kind == "retire" and step.old is not None and step.old.is_root:
        return 0
    return step.tree.height


def _new_node(workspace: Workspace, *, step: Step, directory: str, height: int) -> SummaryNode:
    node_id = new_id()
    level = max(1, height - step.height + 1)
    is_replacement = step.kind == "replace" and step.old is not None
    return SummaryNode(
        id=node_id,
        workspace=workspace,
        scope_id=step.tree.scope_id,
        category=step.tree.category,
        tree_id=step.tree.id,
        parent_id=step.old.parent_id if is_replacement and step.old else None,
        replaces_id=step.old.id if step.old else None,
        height=step.height,
        level=level,
        is_root=step.becomes_root,
        provisional=step.kind == "root",
        body_path=summary_path(directory, level=level, summary_id=node_id),
        trust=lowest_trust(child.trust for child in step.children),
        sealed_at=now(),
    )


def _copy_moves(workspace: Workspace, *, step: Step, directory: str, height: int) -> list[Move]:
    """When the height changes, every live summary changes its level: copies come first."""
    if height == step.tree.height:
        return []
    with workspace_scope(workspace, [step.tree.scope_id]):
        rows = workspace.summaries.filter(tree=step.tree, status__in=LIVE)
        if step.old is not None:
            rows = rows.exclude(id=step.old.id)
        live = list(rows)
    moves = []
    for node in live:
        level = max(1, height - node.height + 1)
        path = summary_path(directory, level=level, summary_id=node.id)
        if path != node.body_path:
            copy_body(node.body_path, path)
            moves.append(Move(node.id, level, node.body_path, path))
    return moves


def _copy_retired(step: Step, *, directory: str) -> str:
    if step.old is None:
        return ""
    path = retired_path(directory, summary_id=step.old.id)
    with suppress(BodyMissing):  # what is gone already needs no copy, and must not stop the rest
        copy_body(step.old.body_path, path)
    return path


def _recheck(workspace: Workspace, *, tree: Tree, step: Step) -> None:
    """Children, their hashes and places, the node that goes, and the height are as planned."""
    current = _reload(workspace, step.children)
    if child_key(current) != child_key(step.children) or tree.height != step.tree.height:
        raise PlanChanged
    if tree.root_id != step.tree.root_id:
        raise PlanChanged
    if step.old is not None:
        old = workspace.summaries.get(id=step.old.id)
        if (old.status, old.parent_id) != (step.old.status, step.old.parent_id):
            raise PlanChanged


def _reload(workspace: Workspace, children: Sequence[Child]) -> list[Child]:
    """The same children in the same order, locked; fewer when one is gone."""
    if not children:
        return []
    ids = [child.id for child in children]
    rows: dict[UUID, Child] = {}
    if isinstance(children[0], SourceLeaf):
        rows.update(
            {leaf.id: leaf for leaf in workspace.leaves.select_for_update().filter(id__in=ids)}
        )
    else:
        rows.update({node.id: node for node in workspace.summaries.filter(id__in=ids)})
    return [rows[child_id] for child_id in ids if child_id in rows]


def _commit(
    workspace: Workspace,
    *,
    tree: Tree,
    step: Step,
    node: SummaryNode | None,
    draft: SummaryDraft | None,
) -> None:
    """Root flag, node, parents and jobs; the old root gives its flag up before another takes it."""
    if step.becomes_root or step.kind == "promote" or (step.old is not None and step.old.is_root):
        workspace.summaries.filter(tree=tree, is_root=True).update(is_root=False)
    if node is not None and draft is not None:
        node.save(force_insert=True)
        _adopt(workspace, children=step.children, parent=node)
        put_summary_lexemes(workspace, node=node, text=without_citations(draft.body))
        add_job(workspace, topic=Job.Topic.NODE_CREATED, target_id=node.id, scope_id=tree.scope_id)
        if step.becomes_root:
            workspace.trees.filter(id=tree.id).update(root_id=node.id)
        elif step.kind == "seal":
            _outdate_provisional_root(workspace, tree=tree)
    elif step.kind == "promote":
        top = step.children[0]
        workspace.summaries.filter(id=top.id).update(is_root=True, parent=None)
        workspace.trees.filter(id=tree.id).update(root_id=top.id)
    elif step.old is not None and step.old.is_root:
        workspace.trees.filter(id=tree.id).update(root=None)


def _adopt(workspace: Workspace, *, children: Sequence[Child], parent: SummaryNode) -> None:
    ids = [child.id for child in children]
    rows = workspace.leaves if isinstance(children[0], SourceLeaf) else workspace.summaries
    rows.filter(id__in=ids).update(parent=parent)


def _outdate_provisional_root(workspace: Workspace, *, tree: Tree) -> None:
    """It does not cover the new top node; it stays the root until the next one commits."""
    roots = workspace.summaries.filter(
        tree=tree, is_root=True, provisional=True, status=SummaryNode.Status.SEALED
    )
    ids = list(roots.values_list("id", flat=True))
    workspace.summaries.filter(id__in=ids).update(status=SummaryNode.Status.STALE)
    set_entry_status(workspace, node_ids=ids, status=SummaryNode.Status.STALE)


def _apply_moves(workspace: Workspace, *, tree: Tree, moves: list[Move]) -> None:
    for move in moves:
        workspace.summaries.filter(id=move.node_id).update(
            level=move.level, body_path=move.new_path
        )
    _give_up_paths(workspace, scope_id=tree.scope_id, paths=[move.old_path for move in moves])


def _retire_old(workspace: Workspace, *, step: Step, path: str) -> None:
    """With its embedding; the parent is outdated in the same transaction."""
    if step.old is None:
        return
    old = step.old
    workspace.summaries.filter(id=old.id).update(
        status=SummaryNode.Status.RETIRED,
        is_root=False,
        parent=None,
        body_path=path,
        retired_at=now(),
    )
    drop_entries(workspace, node_ids=[old.id])
    _give_up_paths(workspace, scope_id=old.scope_id, paths=[old.body_path, path])
    mark_chain_stale(workspace, start=[old.parent_id])


def _give_up_paths(workspace: Workspace, *, scope_id: UUID, paths: list[str]) -> None:
    expires_at = now() + timedelta(hours=RETIRED_HOURS)
    RetiredBody.objects.bulk_create(
        RetiredBody(workspace=workspace, scope_id=scope_id, path=path, expires_at=expires_at)
        for path in paths
    )
