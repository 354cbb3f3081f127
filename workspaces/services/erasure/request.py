"""The request: one transaction, after which no read returns the text."""

from collections.abc import Sequence
from uuid import UUID

from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from workspaces.models.erasure import Erasure
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services import audit
from workspaces.services.erasure.entry import write_entry_early
from workspaces.services.erasure.family import covering_ids, family_of
from workspaces.services.erasure.receipts import Receipt, erasures_of_leaf, receipt_of
from workspaces.services.erasure.taking import lock_family, take_out
from workspaces.services.jobs import add_job
from workspaces.services.principals import Principal

REASON_CHARACTERS = 500
EVERYWHERE = "everywhere"  # in a job's payload
ERASE_PRIORITY = 10  # before any other work: a deadline of the law runs
Scopes = Sequence[UUID] | str | None


def erase_leaf(
    workspace: Workspace,
    *,
    principal: Principal,
    scopes: Scopes,
    leaf_id: UUID,
    reason: str = "",
    only_this: bool = False,
) -> Receipt:
    """Take a leaf out of memory with its whole history, or alone, and queue the rest of the work.

    A leaf that is gone already answers the receipt it went with; asked for with its history
    after it went alone, the rest of the history goes as well. Raises NotFound.
    """
    leaf = require_leaf(workspace, scopes=scopes, leaf_id=leaf_id)
    with workspace_scope(workspace, [leaf.scope_id]):
        erasure = Erasure(
            workspace=workspace,
            scope_id=leaf.scope_id,
            target_id=leaf.id,
            reason=reason[:REASON_CHARACTERS],
            requested_by=principal.label[:200],
            only_this=only_this,
            requested_at=now(),
        )
        taken = _take(workspace, erasure=erasure, tree_id=leaf.tree_id, principal=principal)
        faults.point("erase.requested")
    if taken.status != Erasure.Status.COMPLETE:
        write_entry_early(workspace, erasure=taken)
    return receipt_of(taken)


def require_leaf(workspace: Workspace, *, scopes: Scopes, leaf_id: UUID) -> SourceLeaf:
    with workspace_scope(workspace, scopes):
        leaf = workspace.leaves.filter(id=leaf_id).first()
    if leaf is None:
        raise NotFound("There is no such leaf.")
    return leaf


def _take(
    workspace: Workspace, *, erasure: Erasure, tree_id: UUID, principal: Principal
) -> Erasure:
    leaves = lock_family(
        workspace,
        family=lambda: family_of(
            workspace,
            leaf_ids=[erasure.target_id],
            only_these=erasure.only_this,
            before=erasure.requested_at,
        ),
        tree_ids=[tree_id],
    )
    earlier = _earlier(workspace, erasure=erasure, leaves=leaves)
    if earlier is not None:
        return earlier
    take_out(workspace, erasure=erasure, leaves=leaves)
    audit.record(
        workspace,
        principal=principal,
        action="leaf.erased",
        target_id=erasure.target_id,
        detail={"erasure_id": str(erasure.id), "leaves": [str(leaf.id) for leaf in leaves]},
        scope_id=erasure.scope_id,
    )
    queue_erasure(workspace, erasure=erasure)
    return erasure


def _earlier(
    workspace: Workspace, *, erasure: Erasure, leaves: Sequence[SourceLeaf]
) -> Erasure | None:
    """The erasure that this request repeats; with the leaves locked, so that none slips in."""
    if any(leaf.id == erasure.target_id for leaf in leaves):
        return None
    known = erasures_of_leaf(workspace, leaf_id=erasure.target_id)
    wide = [row for row in known if erasure.only_this or not row.only_this]
    if wide:
        return wide[0]
    return None if leaves or not known else known[-1]


def queue_erasure(workspace: Workspace, *, erasure: Erasure, everywhere: bool = False) -> None:
    """`everywhere`: files are looked for in all folders, not only in those of its trees."""
    add_job(
        workspace,
        topic=Job.Topic.ERASE,
        target_id=erasure.id,
        scope_id=erasure.scope_id,
        payload={EVERYWHERE: True} if everywhere else None,
        priority=ERASE_PRIORITY,
    )


def preview_erasure(
    workspace: Workspace, *, scopes: Scopes, leaf_id: UUID, only_this: bool
) -> tuple[int, int]:
    """How many leaves would go, and how many summaries lose their text. Raises NotFound."""
    leaf = require_leaf(workspace, scopes=scopes, leaf_id=leaf_id)
    with workspace_scope(workspace, [leaf.scope_id]):
        leaves = family_of(workspace, leaf_ids=[leaf.id], only_these=only_this, before=now())
        covers = covering_ids(
            workspace,
            tree_ids=sorted({found.tree_id for found in leaves}),
            leaf_ids=[found.id for found in leaves],
        )
    return len(leaves), len(covers)
