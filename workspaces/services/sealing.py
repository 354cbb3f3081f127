"""Sealing a tree upward: read what is due, write the summary, switch the topology atomically.

The lease on the tree's job serialises passes; no lock is held while a judge writes. The commit
takes the tree row and re-checks what the plan rests on.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from uuid import UUID

from django.db import IntegrityError

from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.database.statements import run_together
from holamem.ids import new_id
from workspaces.bodies import BodyMissing, copy_bodies, copy_body, delete_bodies
from workspaces.body_paths import retired_path, scope_directory, summary_path
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree
from workspaces.services.job_rows import NewJob, new_jobs_statement
from workspaces.services.jobs import ClaimedJob, LeaseLost, add_job, require_lease, wake_for
from workspaces.services.model_calls import judge_of
from workspaces.services.policies import lowest_trust
from workspaces.services.rebuild.sidecar import is_mirror_due, mirror_tree
from workspaces.services.seal_plan import LIVE, Child, Step, child_key, next_step
from workspaces.services.seal_rows import (
    Move,
    height_statement,
    move_statements,
    retire_statements,
    swap_statements,
)
from workspaces.services.summaries import (
    build_node,
    draft_summary,
    write_summary_body,
)
from workspaces.services.topology import mark_chain_stale

logger = logging.getLogger(__name__)

PASS_SECONDS = 60  # a long pass gives other jobs a turn


class PlanChanged(RuntimeError):
    """The tree changed between plan and commit; plan again."""


def seal_tree(workspace: Workspace, job: ClaimedJob) -> None:
    """Handler of `tree.dirty`: take step after step until nothing is due, or time is up.

    The sidecar is written first, since a judge that is out must not keep what was forgotten in
    it, and again after the steps.
    """
    deadline = time.monotonic() + PASS_SECONDS
    if is_mirror_due(workspace, tree_id=job.target_id, scope_id=job.scope_id):
        mirror_tree(workspace, tree_id=job.target_id, scope_id=job.scope_id)
    if _take_steps(workspace, job=job, deadline=deadline):
        mirror_tree(workspace, tree_id=job.target_id, scope_id=job.scope_id)


def _take_steps(workspace: Workspace, *, job: ClaimedJob, deadline: float) -> bool:
    """Whether any step was tried."""
    is_changed = False
    while (step := _plan(workspace, job=job)) is not None:
        is_changed = True
        with suppress(PlanChanged):
            perform(workspace, job=job, step=step)
        if time.monotonic() > deadline:
            _go_on_later(workspace, job=job)
            break
    return is_changed


def _go_on_later(workspace: Workspace, *, job: ClaimedJob) -> None:
    with workspace_scope(workspace, [job.scope_id]):
        add_job(
            workspace, topic=job.topic, target_id=job.target_id, scope_id=job.scope_id, priority=150
        )


def _plan(workspace: Workspace, *, job: ClaimedJob) -> Step | None:
    with workspace_scope(workspace, [job.scope_id]):
        tree = _tree(workspace, tree_id=job.target_id)
        if tree is None:
            return None
        return next_step(workspace, tree=tree, threshold=workspace.preferences.seal_threshold)


def _tree(workspace: Workspace, *, tree_id: UUID, hold: bool = False) -> Tree | None:
    sql = "SELECT * FROM workspaces_tree WHERE workspace_id = %s AND id = %s"
    rows = workspace.trees.raw(f"{sql} FOR UPDATE" if hold else sql, [workspace.pk, tree_id])
    return next(iter(rows), None)


def perform(workspace: Workspace, *, job: ClaimedJob, step: Step) -> SummaryNode | None:
    """Write one step. Files first, then one transaction. Returns the new node, if any."""
    directory = scope_directory(workspace, tree=step.tree)
    height = _height_after(step)
    draft, node = None, None
    if step.kind in ("seal", "replace", "root"):
        judge = judge_of(workspace, scope_id=step.tree.scope_id)
        draft = draft_summary(step, judge=judge)
        faults.point("seal.after_draft")
        node = _new_node(workspace, step=step, directory=directory, height=height)
        build_node(step, draft=draft, node=node, model=judge.name)
        body = write_summary_body(node, tree=step.tree, body=draft.body)
        node.body_sha256, node.body_bytes = body.sha256, body.size
        faults.point("seal.after_file")
    with _removed_on_refusal(node):
        moves = _copy_moves(workspace, step=step, directory=directory, height=height)
        retired_to = _copy_retired(step, directory=directory)
    faults.point("seal.before_swap")
    with _removed_on_refusal(node), workspace_scope(workspace, [step.tree.scope_id]):
        tree = _tree(workspace, tree_id=step.tree.id, hold=True)
        if tree is None:
            raise PlanChanged
        require_lease(job)
        _recheck(workspace, tree=tree, step=step)
        jobs = [] if node is None else [NewJob(Job.Topic.NODE_CREATED, node.id, node.scope_id)]
        run_together(swap_statements(workspace, step=step, node=node, draft=draft))
        faults.point("seal.in_swap")
        run_together(
            [
                *move_statements(workspace, step=step, moves=moves),
                *retire_statements(workspace, step=step, path=retired_to),
                height_statement(workspace, step=step, height=height),
                *([new_jobs_statement(workspace, jobs=jobs)] if jobs else []),
            ]
        )
        if step.old is not None:
            mark_chain_stale(workspace, start=[step.old.parent_id])
        wake_for(jobs)
    faults.point("seal.after_swap")
    logger.info(
        "tree.step",
        extra={"kind": step.kind, "height": step.height, "tree_id": str(step.tree.id)},
    )
    return node


@contextmanager
def _removed_on_refusal(node: SummaryNode | None) -> Iterator[None]:
    """A body that will have no row goes at once: what it says may be erased meanwhile."""
    try:
        yield
    except (PlanChanged, LeaseLost, BodyMissing, IntegrityError):
        if node is not None:
            delete_bodies([node.body_path])
        raise


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
    moves, copies = [], {}
    for node in live:
        level = max(1, height - node.height + 1)
        path = summary_path(directory, level=level, summary_id=node.id)
        if path != node.body_path:
            moves.append(Move(node.id, level, node.body_path, path))
            if not node.withheld:  # nobody reads it, and an erasure removes its file
                copies[path] = node.body_path
    copy_bodies(copies)
    return moves


def _copy_retired(step: Step, *, directory: str) -> str:
    if step.old is None:
        return ""
    path = retired_path(directory, summary_id=step.old.id)
    if not step.old.withheld:
        with suppress(BodyMissing):  # what is gone needs no copy, and must not stop the rest
            copy_body(step.old.body_path, path)
    return path


def _recheck(workspace: Workspace, *, tree: Tree, step: Step) -> None:
    """Children, their hashes and places, the node that goes, and the height are as planned."""
    current = _reload(workspace, step.children)
    if child_key(current) != child_key(step.children) or tree.height != step.tree.height:
        raise PlanChanged
    if (tree.root_id, tree.key) != (step.tree.root_id, step.tree.key):
        raise PlanChanged
    if step.old is not None:
        [old] = _summaries(workspace, ids=[step.old.id])
        if (old.status, old.parent_id) != (step.old.status, step.old.parent_id):
            raise PlanChanged


def _reload(workspace: Workspace, children: Sequence[Child]) -> list[Child]:
    """The same children in the same order, locked; fewer when one is gone."""
    if not children:
        return []
    ids = [child.id for child in children]
    rows: dict[UUID, Child] = {}
    if isinstance(children[0], SourceLeaf):
        rows.update({leaf.id: leaf for leaf in _held_leaves(workspace, ids=ids)})
    else:
        rows.update({node.id: node for node in _summaries(workspace, ids=ids)})
    return [rows[child_id] for child_id in ids if child_id in rows]


def _held_leaves(workspace: Workspace, *, ids: Sequence[UUID]) -> list[SourceLeaf]:
    sql = """
    SELECT * FROM workspaces_sourceleaf WHERE workspace_id = %s AND id = ANY(%s::uuid[])
     ORDER BY id FOR UPDATE
    """
    return list(workspace.leaves.raw(sql, [workspace.pk, list(ids)]))


def _summaries(workspace: Workspace, *, ids: Sequence[UUID]) -> list[SummaryNode]:
    sql = "SELECT * FROM workspaces_summarynode WHERE workspace_id = %s AND id = ANY(%s::uuid[])"
    return list(workspace.summaries.raw(sql, [workspace.pk, list(ids)]))
