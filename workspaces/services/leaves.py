"""Steps 9 to 11 of the write path: files first, then everything else in one transaction."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from django.db import IntegrityError

from holamem import faults
from holamem.database.scope import workspace_scope
from holamem.database.statements import Statement, run_together
from workspaces.bodies import delete_bodies
from workspaces.index.entries import status_statements
from workspaces.models.jobs import Job
from workspaces.models.log import Category, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.erasure.texts import TextErased, refuse_erased, refuse_gone
from workspaces.services.history import place_in_history
from workspaces.services.holding import Held, PlanChanged, hold, require_part
from workspaces.services.job_rows import NewJob, new_jobs_statement
from workspaces.services.jobs import ClaimedJob, LeaseLost, require_lease, wake_for
from workspaces.services.leaf_bodies import write_new_leaves
from workspaces.services.leaf_rows import (
    LeafPlan,
    NewLeaf,
    duplicate_statements,
    follow_ups,
    leaf_statements,
)
from workspaces.services.lineage import end_at_source
from workspaces.services.owners import make_owner
from workspaces.services.topology import mark_chain_stale


def link_duplicate(workspace: Workspace, *, job: ClaimedJob, plan: LeafPlan) -> None:
    """The text is known: the event becomes a further source of the leaf that holds it."""
    with workspace_scope(workspace, [plan.event.scope_id]):
        leaf = _lock_holder(workspace, plan=plan)
        refuse_erased(workspace, event=plan.event, fingerprint=plan.chunk.fingerprint)
        require_lease(job)
        run_together(duplicate_statements(workspace, plan=plan, leaf=leaf))
        faults.point("duplicate.before_commit")


def _lock_holder(workspace: Workspace, *, plan: LeafPlan) -> SourceLeaf:
    """The leaf that holds the text, if it still does; in integration the tree says so."""
    is_synchronised = plan.event.category == Category.INTEGRATION
    if is_synchronised:
        workspace.trees.select_for_update().get(id=plan.owner.tree.id)
        require_part(workspace, plan=plan)
    rows = workspace.leaves.select_for_update()
    leaf = rows.filter(id__in=[plan.resolution.leaf_id]).first()
    holds = leaf is not None and (is_synchronised or _still_holds(leaf, event=plan.event))
    if leaf is None or not holds:
        refuse_gone(workspace, event=plan.event, leaf_id=plan.resolution.leaf_id)
        raise PlanChanged
    return leaf


def _still_holds(leaf: SourceLeaf, *, event: Event) -> bool:
    """Active, or a re-import: a leaf that was replaced meanwhile is no home for newer words."""
    if leaf.status in (SourceLeaf.Status.ERASING, SourceLeaf.Status.ERASED):
        return False
    is_reimport = leaf.observed_at == (event.occurred_at or event.received_at)
    return leaf.status == SourceLeaf.Status.ACTIVE or is_reimport


def commit_leaves(
    workspace: Workspace, *, plans: Sequence[LeafPlan], jobs: Sequence[ClaimedJob]
) -> None:
    """Write the bodies of one scope, then the leaves with all that hangs on them: all or none.

    Raises PlanChanged or IntegrityError when another worker was faster, TextErased and LeaseLost,
    for the sake of any one of them; then no row and no file is left.
    """
    leaves = write_new_leaves(workspace, plans=plans)
    for _ in plans:
        faults.point("leaf.after_file")
    paths = [leaf.body_path for leaf in leaves]
    with removed_on_refusal(paths), workspace_scope(workspace, [plans[0].event.scope_id]):
        for plan in plans:
            make_owner(plan.owner)
        held = hold(workspace, plans=plans, jobs=jobs)
        new = [NewLeaf(*one) for one in zip(plans, leaves, held.entities, strict=True)]
        _put_in_time(workspace, new=new, held=held)
        due = _follow_ups(new)
        run_together(
            [
                *_retirements(workspace, new=new),
                *leaf_statements(workspace, new=new),
                new_jobs_statement(workspace, jobs=due),
            ]
        )
        for _ in plans:
            faults.point("leaf.after_row")
        wake_for(due)
        for _ in plans:
            faults.point("leaf.before_commit")
    for _ in plans:
        faults.point("leaf.after_commit")


@contextmanager
def removed_on_refusal(paths: Sequence[str]) -> Iterator[None]:
    """Only where it is sure that nothing was committed. The texts may be erased meanwhile."""
    try:
        yield
    except (PlanChanged, TextErased, LeaseLost, IntegrityError):
        delete_bodies(paths)
        raise


def _put_in_time(workspace: Workspace, *, new: Sequence[NewLeaf], held: Held) -> None:
    """Unsaved leaves of the past get their place there; what is above replaced ones turns stale."""
    replaced = []
    for one in new:
        decided = one.plan.resolution
        known = held.known[decided.leaf_id] if decided.leaf_id is not None else None
        if known is not None and decided.kind == "supersede":
            replaced.append(known.parent_id)
        if known is not None and decided.kind == "history":
            place_in_history(workspace, leaf=one.leaf, newer=known)
        end_at_source(one.leaf, until=decided.until)
    mark_chain_stale(workspace, start=replaced)


def _follow_ups(new: Sequence[NewLeaf]) -> list[NewJob]:
    """Each once: leaves of one tree are sealed by one pass."""
    jobs: dict[tuple[str, UUID], NewJob] = {}
    for one in new:
        for job in follow_ups(one.leaf, plan=one.plan):
            jobs.setdefault((job.topic, job.target_id), job)
    return sorted(jobs.values(), key=lambda job: (job.topic == Job.Topic.TREE_DIRTY, job.target_id))


def _retirements(workspace: Workspace, *, new: Sequence[NewLeaf]) -> list[Statement]:
    """Before the inserts, so that the one active fingerprint a tree allows is free."""
    pairs = [
        (old, one.leaf)
        for one in new
        if one.plan.resolution.kind == "supersede"
        and (old := one.plan.resolution.leaf_id) is not None
    ]
    if not pairs:
        return []
    old_ids = [old for old, _ in pairs]
    retired = Statement(
        "UPDATE workspaces_sourceleaf AS old SET status = 'superseded',"
        " valid_until = heir.since, superseded_by_id = heir.id"
        " FROM unnest(%s::uuid[], %s::uuid[], %s::timestamptz[]) AS heir (old, id, since)"
        " WHERE old.workspace_id = %s AND old.id = heir.old",
        [
            old_ids,
            [leaf.id for _, leaf in pairs],
            [leaf.observed_at for _, leaf in pairs],
            workspace.pk,
        ],
    )
    status = SourceLeaf.Status.SUPERSEDED
    return [retired, *status_statements(workspace, node_ids=old_ids, status=status)]
