"""Asking for a run to go on that may have been left lying."""

from agents.models.runs import Approval, Run
from agents.services.runs import Scopes, continue_run, get_run
from agents.services.states import is_ended, lock_session, request_wake
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict
from workspaces.models.tenancy import Workspace


def resume_run(workspace: Workspace, *, scopes: Scopes, run: Run) -> Run:
    """Wakes a runner for it; one that goes on anyway is left alone.

    Raises Conflict for a run that has ended, and for one whose approval waits for its decision.
    """
    with workspace_scope(workspace, scopes):
        lock_session(workspace, session_id=run.session_id)
        present = get_run(workspace, scopes=scopes, run_id=run.id)
        if is_ended(present):
            raise Conflict(f"The run has {present.status} already; try it again with a new run.")
        if present.status == Run.Status.WAITING_APPROVAL:
            if workspace.approvals.filter(run=present, status=Approval.Status.PENDING).exists():
                raise Conflict("The run waits for the decision on its approval.")
            return continue_run(workspace, run=present)
        request_wake(present)
        return present
