"""Sealing trees upward: read what is due, write the summaries, switch the topology atomically.

The leases on the trees' jobs serialise passes; no lock is held while a judge writes. The commit
takes the tree rows and re-checks what the plans rest on. Trees whose judge takes no call are
sealed side by side: the files of a step of each are synced together, and so are their rows.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from uuid import UUID

from holamem import faults
from holamem.database.scope import workspace_scope
from holamem.database.statements import run_together
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree
from workspaces.services.ahead import is_offline
from workspaces.services.job_rows import NewJob, new_jobs_statement
from workspaces.services.jobs import ClaimedJob, LeaseLost, add_job, held_leases, wake_for
from workspaces.services.model_calls import judge_of
from workspaces.services.rebuild.sidecar import mirror_trees, trees_to_mirror
from workspaces.services.seal_files import PlanChanged, Written, removed_on_refusal, write_files
from workspaces.services.seal_plan import Child, Step, child_key, next_steps
from workspaces.services.seal_rows import (
    height_statement,
    move_statements,
    retire_statements,
    swap_statements,
)
from workspaces.services.topology import mark_chain_stale

logger = logging.getLogger(__name__)

PASS_SECONDS = 60  # a long pass gives other jobs a turn


def seal_tree(workspace: Workspace, job: ClaimedJob) -> None:
    """Handler of `tree.dirty`: take step after step until nothing is due, or time is up."""
    _pass(workspace, jobs=[job])


def seal_trees(workspace: Workspace, jobs: Sequence[ClaimedJob]) -> dict[UUID, Exception]:
    """The same for several trees of one scope; errors by job.

    Whatever stands in the way of all of them is left to those that are taken one by one.
    """
    if is_offline(judge_of(workspace, scope_id=jobs[0].scope_id)):
        try:
            _pass(workspace, jobs=jobs)
        except Exception as error:  # noqa: BLE001 - tried again below, and told there
            logger.info("trees.refused", extra={"kind": type(error).__name__})
        else:
            return {}
    errors: dict[UUID, Exception] = {}
    for job in jobs:
        try:
            seal_tree(workspace, job)
        except Exception as error:  # noqa: BLE001 - it is this job's, and stops no other
            errors[job.id] = error
    return errors


def _pass(workspace: Workspace, *, jobs: Sequence[ClaimedJob]) -> None:
    """The sidecars are written first, since a judge that is out must not keep what was forgotten
    in them, and again after the steps.
    """
    deadline = time.monotonic() + PASS_SECONDS
    scope_id, ids = jobs[0].scope_id, [job.target_id for job in jobs]
    due = trees_to_mirror(workspace, tree_ids=ids, scope_id=scope_id)
    mirror_trees(workspace, tree_ids=due, scope_id=scope_id)
    changed = _take_steps(workspace, jobs=jobs, deadline=deadline)
    mirror_trees(workspace, tree_ids=changed, scope_id=scope_id)


def _take_steps(workspace: Workspace, *, jobs: Sequence[ClaimedJob], deadline: float) -> list[UUID]:
    """The trees in which a step was tried, one of each at a time."""
    waiting = {job.target_id: job for job in jobs}
    changed: dict[UUID, None] = {}
    while waiting and (steps := _plan(workspace, jobs=list(waiting.values()))):
        waiting = {step.tree.id: waiting[step.tree.id] for step in steps}
        changed |= dict.fromkeys(waiting)
        # A tree alone is planned again; of several, each goes on alone.
        with suppress(PlanChanged) if len(jobs) == 1 else nullcontext():
            perform(workspace, jobs=waiting, steps=steps)
        if time.monotonic() > deadline:
            _go_on_later(workspace, jobs=list(waiting.values()))
            break
    return list(changed)


def _go_on_later(workspace: Workspace, *, jobs: Sequence[ClaimedJob]) -> None:
    with workspace_scope(workspace, [jobs[0].scope_id]):
        for job in jobs:
            add_job(
                workspace,
                topic=job.topic,
                target_id=job.target_id,
                scope_id=job.scope_id,
                priority=150,
            )


def _plan(workspace: Workspace, *, jobs: Sequence[ClaimedJob]) -> list[Step]:
    with workspace_scope(workspace, [jobs[0].scope_id]):
        trees = _trees(workspace, ids=[job.target_id for job in jobs])
        threshold = workspace.preferences.seal_threshold
        return next_steps(workspace, trees=trees, threshold=threshold) if trees else []


def _trees(workspace: Workspace, *, ids: Sequence[UUID], hold: bool = False) -> list[Tree]:
    sql = (
        "SELECT * FROM workspaces_tree WHERE workspace_id = %s AND id = ANY(%s::uuid[]) ORDER BY id"
    )
    return list(
        workspace.trees.raw(f"{sql} FOR UPDATE" if hold else sql, [workspace.pk, list(ids)])
    )


def perform(
    workspace: Workspace, *, jobs: Mapping[UUID, ClaimedJob], steps: Sequence[Step]
) -> None:
    """Write one step of each tree. Files first, then one transaction. `jobs` by tree."""
    judge = judge_of(workspace, scope_id=steps[0].tree.scope_id)
    written = write_files(workspace, steps=steps, judge=judge)
    for _ in steps:
        faults.point("seal.before_swap")
    with (
        removed_on_refusal([one.node for one in written]),
        workspace_scope(workspace, [steps[0].tree.scope_id]),
    ):
        _hold(workspace, jobs=list(jobs.values()), steps=steps)
        _swap(workspace, written=written)
        old = [step.old.parent_id for step in steps if step.old is not None]
        mark_chain_stale(workspace, start=old)
    for _ in steps:
        faults.point("seal.after_swap")
    for step in steps:
        logger.info(
            "tree.step",
            extra={"kind": step.kind, "height": step.height, "tree_id": str(step.tree.id)},
        )


def _swap(workspace: Workspace, *, written: Sequence[Written]) -> None:
    due = [
        NewJob(Job.Topic.NODE_CREATED, one.node.id, one.node.scope_id)
        for one in written
        if one.node is not None
    ]
    run_together(
        [
            statement
            for one in written
            for statement in swap_statements(
                workspace, step=one.step, node=one.node, draft=one.draft
            )
        ]
    )
    for _ in written:
        faults.point("seal.in_swap")
    statements = [
        statement
        for one in written
        for statement in (
            *move_statements(workspace, step=one.step, moves=one.moves),
            *retire_statements(workspace, step=one.step, path=one.retired_to),
            height_statement(workspace, step=one.step, height=one.height),
        )
    ]
    run_together([*statements, *([new_jobs_statement(workspace, jobs=due)] if due else [])])
    wake_for(due)


def _hold(workspace: Workspace, *, jobs: Sequence[ClaimedJob], steps: Sequence[Step]) -> None:
    """Trees, children with their hashes and places, and the nodes that go are as planned.

    They stay so until the step ends. Raises PlanChanged and LeaseLost.
    """
    trees = {tree.id: tree for tree in _trees(workspace, ids=[s.tree.id for s in steps], hold=True)}
    if len(held_leases(jobs)) < len(jobs):
        raise LeaseLost
    current = _reload(workspace, steps=steps)
    for step in steps:
        tree = trees.get(step.tree.id)
        if tree is None or (tree.height, tree.root_id, tree.key) != (
            step.tree.height,
            step.tree.root_id,
            step.tree.key,
        ):
            raise PlanChanged
        children = [current[child.id] for child in step.children if child.id in current]
        if child_key(children) != child_key(step.children):
            raise PlanChanged
        if step.old is not None:
            old = current[step.old.id]
            if (old.status, old.parent_id) != (step.old.status, step.old.parent_id):
                raise PlanChanged


def _reload(workspace: Workspace, *, steps: Sequence[Step]) -> dict[UUID, Child]:
    """The children, of which the leaves are locked, and the nodes that go; without what is gone."""
    children = [child for step in steps for child in step.children]
    leaves = [child.id for child in children if isinstance(child, SourceLeaf)]
    nodes = [child.id for child in children if isinstance(child, SummaryNode)]
    nodes += [step.old.id for step in steps if step.old is not None]
    found: dict[UUID, Child] = {}
    if leaves:
        sql = "SELECT * FROM workspaces_sourceleaf WHERE workspace_id = %s AND id = ANY(%s::uuid[])"
        rows = workspace.leaves.raw(f"{sql} ORDER BY id FOR UPDATE", [workspace.pk, leaves])
        found |= {leaf.id: leaf for leaf in rows}
    if nodes:
        sql = (
            "SELECT * FROM workspaces_summarynode WHERE workspace_id = %s AND id = ANY(%s::uuid[])"
        )
        found |= {node.id: node for node in workspace.summaries.raw(sql, [workspace.pk, nodes])}
    return found
