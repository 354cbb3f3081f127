"""Approvals that nobody decided in time, of all workspaces; the runner's sweep looks for them."""

from datetime import datetime

from agents.models.runs import Approval
from agents.services.approvals import expire_approval
from holamem.database.scope import system_scope, workspace_scope
from workspaces.models.tenancy import Workspace

EXPIRED_AT_ONCE = 100


def expire_approvals(moment: datetime) -> int:
    """How many expired; each in a step of its own, so that one cannot hold up the others."""
    with system_scope():
        due = Approval.objects.filter(status=Approval.Status.PENDING, expires_at__lte=moment)
        rows = list(
            due.select_related("workspace__tenant").order_by("expires_at")[:EXPIRED_AT_ONCE]
        )
    return sum(_expire(row.workspace, row=row, moment=moment) for row in rows)


def _expire(workspace: Workspace, *, row: Approval, moment: datetime) -> bool:
    with workspace_scope(workspace, sorted({workspace.pk, row.scope_id})):
        return expire_approval(workspace, approval_id=row.id, moment=moment)
