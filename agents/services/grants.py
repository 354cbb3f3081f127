"""Approvals that reach further than one call: the same tool with identical arguments."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Q

from agents.models.runs import Approval, ApprovalGrant, Run, ToolCall
from agents.tools.arguments import arguments_sha256
from workspaces.models.tenancy import Workspace


def is_granted(workspace: Workspace, *, run: Run, name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a person approved this very call for the run or for its session; inside a step."""
    return workspace.approval_grants.filter(
        Q(run_id=None) | Q(run_id=run.id),
        session_id=run.session_id,
        tool_name=name,
        arguments_sha256=arguments_sha256(arguments),
    ).exists()


def grant(workspace: Workspace, *, approval: Approval, calls: Iterable[ToolCall]) -> None:
    """In the step of the decision; nothing for an approval of this once."""
    if approval.scope == Approval.Scope.ONCE:
        return
    reach = approval.run_id if approval.scope == Approval.Scope.RUN else None
    ApprovalGrant.objects.bulk_create(
        ApprovalGrant(
            workspace=workspace,
            scope_id=approval.scope_id,
            session_id=approval.session_id,
            run_id=reach,
            approval=approval,
            tool_name=call.name,
            arguments_sha256=arguments_sha256(call.arguments),
        )
        for call in calls
    )
