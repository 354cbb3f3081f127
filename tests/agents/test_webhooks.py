"""Webhooks are told how runs end and what waits for a person, with ids and nothing else."""

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.agents.replies import talk
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace
from workspaces.models.webhooks import WebhookDelivery

SAVE = {"action": "save", "name": "plan", "content": "zq-secret", "summary": "zq-secret"}


def told(workspace: Workspace) -> list[WebhookDelivery]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.webhook_deliveries.order_by("id"))


def test_approvals_and_ends_of_runs_are_told_without_what_was_said(workspace: Workspace) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        workspace.webhooks.create(scope_id=workspace.id, url="http://localhost/hook", salt="0")
    talking = talk(workspace, content="zq-secret")
    assert told(workspace) == []
    talking.reply(("memory_write", SAVE))
    talking.decide("denied", reason="zq-secret")
    talking.take()
    talking.end()
    asked, ended = told(workspace)
    assert talking.approval is not None
    ids = {"run_id": str(talking.run.id), "session_id": str(talking.session.id)}
    assert (asked.event, asked.data) == (
        "approval.required",
        {**ids, "approval_id": str(talking.approval.id)},
    )
    assert ended.event == "run.completed"
    assert ended.data == {**ids, "seq": len(talking.events())}
    assert_clean(workspace)
