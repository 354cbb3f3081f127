"""Every invariant of the runtime is really checked: damage is found under its code."""

from uuid import uuid4

import pytest

from agents import verify
from agents.models.conversations import Session
from agents.services.approvals import decide_approval
from agents.services.runs import cancel_run
from agents.services.states import LEGAL_MOVES, STATE_AFTER
from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.agents.talking import (
    model_server,
    open_session,
    principal_of,
    say,
    work_off,
)
from tests.streamed import calls, says
from tests.verification import assert_clean
from tests.workspaces.verify.test_checks import is_found
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.verify.run import verify_workspace


@pytest.fixture(scope="module")
def story() -> Workspace:
    """A run with a ping, one with an approved and a denied write, one cancelled in the queue."""
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")
    workspace = create_workspace(tenant, slug="main", name="Main")
    writes = [
        ("memory_write", {"action": "save", "name": name, "content": "x", "summary": "x"})
        for name in ("one", "two")
    ]
    with pytest.MonkeyPatch.context() as patch, model_server(patch) as model:
        session = open_session(workspace)
        model.script(calls(("ping", {})), says("Pong."), calls(*writes), says("Done."))
        say(session, "Ping.")
        work_off(workspace)
        say(session, "Remember.")
        work_off(workspace)
        _decide(session)
        work_off(workspace)
        cancel_run(workspace, run=say(session, "Never mind."))
    return workspace


def _decide(session: Session) -> None:
    with workspace_scope(session.workspace, ALL_SCOPES):
        approval = session.workspace.approvals.get(session=session)
    decisions = [
        {"tool_call_id": call_id, "status": status, "reason": ""}
        for call_id, status in zip(approval.tool_call_ids, ("approved", "denied"), strict=True)
    ]
    decide_approval(
        session.workspace,
        scopes=ALL_SCOPES,
        approval_id=approval.id,
        decisions=decisions,
        scope="once",
        principal=principal_of(session.workspace),
    )


W = "workspace_id = %(workspace)s"
DAMAGES = [
    ("R2", f"UPDATE agents_session SET active_run_id = id WHERE {W}"),
    ("R3", f"DELETE FROM agents_runevent WHERE {W} AND seq = 3"),
    ("R3", f"UPDATE agents_session SET last_event_seq = last_event_seq + 1 WHERE {W}"),
    ("R4", f"UPDATE agents_runevent SET type = 'run.started' WHERE {W} AND type = 'run.completed'"),
    (
        "R4",
        "UPDATE agents_runevent SET run_id = (SELECT run_id FROM agents_runevent WHERE"
        f" {W} AND seq = 1) WHERE {W} AND type = 'run.created' AND seq > 1",
    ),
    ("R5", f"UPDATE agents_toolcall SET status = 'running' WHERE {W} AND name = 'ping'"),
    ("R6", f"UPDATE agents_runevent SET type = 'run.failed' WHERE {W} AND type = 'run.started'"),
    ("R6", f"UPDATE agents_runevent SET type = 'run.failed' WHERE {W} AND type = 'run.completed'"),
    ("R7", f"UPDATE agents_approval SET status = 'pending' WHERE {W}"),
    ("R8", f"UPDATE agents_message SET tool_call_id = 'x' WHERE {W} AND role = 'tool'"),
    ("R8", f"UPDATE agents_toolcall SET started_at = now() WHERE {W} AND status = 'denied'"),
    ("R9", f"UPDATE agents_approval SET status = 'denied' WHERE {W}"),
    (
        "R9",
        f"UPDATE agents_runevent SET seq = seq + 1000 WHERE {W} AND type = 'tool.approval_decided'",
    ),
    ("R10", f"UPDATE agents_message SET event_seq = 10000 WHERE {W} AND role = 'user'"),
    ("R11", f"UPDATE agents_message SET prefix_sha256 = 'x' WHERE {W} AND role = 'assistant'"),
    ("R11", f"UPDATE agents_session SET frozen_user_index = 'x' WHERE {W}"),
    ("R12", f"UPDATE agents_session SET compaction_seq = 3 WHERE {W}"),
    (
        "R12",
        "WITH gone AS (DELETE FROM agents_messageentry"
        f" WHERE {W}) DELETE FROM agents_message WHERE {W} AND role = 'assistant'",
    ),
    ("R13", f'UPDATE agents_run SET config = config || \'{{"mode": "autonomous"}}\' WHERE {W}'),
    ("R14", f"UPDATE agents_run SET input_tokens = 1 WHERE {W} AND status = 'completed'"),
]
REFUSED = {"R1"}  # by the database itself


@pytest.mark.parametrize(("code", "statement"), DAMAGES)
def test_damage_is_found_under_its_code(story: Workspace, code: str, statement: str) -> None:
    assert is_found(story, statement, code=code)


def test_a_story_with_approvals_and_a_cancel_is_clean(story: Workspace) -> None:
    assert verify_workspace(story) == []
    assert_clean(story)


def test_every_check_has_a_damage_that_it_finds() -> None:
    assert {check.code for check in verify.CHECKS} == {code for code, _ in DAMAGES} | REFUSED


def test_every_move_of_the_table_has_a_state_that_events_tell_of() -> None:
    told = set(STATE_AFTER.values()) | {"cancelling"}
    assert set(LEGAL_MOVES) == told
    assert {to for moves in LEGAL_MOVES.values() for to in moves} <= told
