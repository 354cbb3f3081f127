"""Page: what waits for a person, in one inbox. Each line is acted on here or leads to its place."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from agents.dashboard.conversation import ApprovalCard, call_card
from agents.models.runs import Approval, ToolCall
from agents.services.approvals import list_approvals
from agents.services.flagged import FlaggedLeaf, flagged_leaves, keep_flagged
from holamem.database.scope import workspace_scope
from retrieval.dashboard.reads import GapRow, list_gap_rows
from workspaces.dashboard.changing import told
from workspaces.dashboard.page import Place, render_page, workspace_action, workspace_page
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.work_view import JobRow, list_jobs

SHOWN = 20  # of each kind; the page of the kind has all of them
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class WaitingApproval:
    title: str
    card: ApprovalCard


@dataclass(frozen=True, slots=True)
class LeafRow:
    id: UUID
    title: str
    language: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class LostCall:
    """A call whose process died while it ran: nobody knows whether it took effect."""

    session_id: UUID
    name: str
    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class Inbox:
    approvals: list[WaitingApproval]
    conflicts: list[GapRow]
    flagged: list[FlaggedLeaf]
    uncategorized: list[LeafRow]
    parked: list[JobRow]
    lost: list[LostCall]

    @property
    def is_empty(self) -> bool:
        parts = (self.approvals, self.conflicts, self.flagged, self.uncategorized)
        return not any((*parts, self.parked, self.lost))


@workspace_page
def attention(request: HttpRequest, place: Place) -> HttpResponse:
    return render_page(
        request,
        "dashboard/attention.html",
        place,
        section="attention",
        inbox=inbox_of(place.workspace, scopes=place.scopes),
    )


@workspace_action
def keep(request: HttpRequest, place: Place, node_id: UUID) -> HttpResponse:
    """A leaf that was flagged is harmless: it is not shown again."""
    place.require_write()
    audit_id = keep_flagged(
        place.workspace, principal=place.principal, scopes=place.scopes, leaf_id=node_id
    )
    told(request, _("The leaf is kept and not flagged again."), audit_id=audit_id)
    return redirect(place.address("dashboard_attention"))


def inbox_of(workspace: Workspace, *, scopes: Scopes) -> Inbox:
    """A fixed number of queries; each kind in the order in which it should be worked off."""
    pending = list_approvals(workspace, scopes=scopes, status=Approval.Status.PENDING, limit=SHOWN)
    conflicts = list_gap_rows(
        workspace, scopes=scopes, status="open", page=1, kind="conflicting", size=SHOWN
    )
    parked = list_jobs(workspace, scopes=scopes, state=Job.State.PARKED, page=1)
    with workspace_scope(workspace, scopes):
        return Inbox(
            approvals=_approvals(workspace, pending),
            conflicts=conflicts.rows,
            flagged=flagged_leaves(workspace, most=SHOWN),
            uncategorized=_uncategorized(workspace),
            parked=parked.rows[:SHOWN],
            lost=_lost(workspace),
        )


def _approvals(workspace: Workspace, pending: Sequence[Approval]) -> list[WaitingApproval]:
    """The one that ends first comes first."""
    wanted = [call_id for approval in pending for call_id in approval.tool_call_ids]
    rows = workspace.tool_calls.filter(id__in=wanted)
    calls = {str(call.id): call_card(call) for call in rows}
    return [
        WaitingApproval(
            approval.session.title,
            ApprovalCard(
                approval.id,
                approval.session_id,
                [calls[key] for key in map(str, approval.tool_call_ids) if key in calls],
                approval.created_at,
                approval.expires_at,
            ),
        )
        for approval in sorted(pending, key=lambda item: item.expires_at)
    ]


def _uncategorized(workspace: Workspace) -> list[LeafRow]:
    """Leaves that no entity could be found for, newest first."""
    # Two steps: with a join the planner reads all leaves backwards to find the few.
    nobody = list(workspace.entities.filter(is_system=True).values_list("id", flat=True))
    rows = workspace.leaves.filter(status=SourceLeaf.Status.ACTIVE, entity__in=nobody)
    found = rows.order_by("-id").values_list("id", "title", "language", "created_at")
    return [LeafRow(*row) for row in found[:SHOWN]]


def _lost(workspace: Workspace) -> list[LostCall]:
    rows = workspace.tool_calls.filter(status=ToolCall.Status.UNKNOWN_OUTCOME).order_by("-id")
    found = rows.values_list("run__session_id", "name", "started_at")
    return [LostCall(*row) for row in found[:SHOWN]]
