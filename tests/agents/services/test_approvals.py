"""Approvals: decided at once and once, by somebody else than who asked, and lasting as long."""

from collections.abc import Callable
from datetime import timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connections

from agents.models.runs import Approval, Run
from agents.services.approvals import (
    EXPIRED,
    decide_approval,
    get_approval,
    list_approvals,
)
from agents.services.expiry import expire_approvals
from agents.services.runs import cancel_run
from agents.services.sessions import session_scopes
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, Gone, InvalidInput, NotFound, PermissionDenied
from holamem.ids import new_id
from tests.agents.replies import Conversation, dies_at, end_user, key, person, talk, talk_on
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace

SAVE = {"action": "save", "name": "plan", "content": "Ship on Friday.", "summary": "The date"}
OTHER = {**SAVE, "name": "other"}


def asked(workspace: Workspace, *arguments: dict[str, Any], **fields: Any) -> Conversation:
    talking = talk(workspace, **fields)
    talking.reply(*[("memory_write", one) for one in arguments or (SAVE,)])
    return talking


def statuses(talking: Conversation) -> list[str]:
    return [call.status for call in talking.reload()]


def run_of(talking: Conversation) -> Run:
    with workspace_scope(talking.workspace, session_scopes(talking.session)):
        return talking.workspace.runs.get(id=talking.run.id)


def test_one_approval_holds_all_calls_of_a_reply_that_wait(workspace: Workspace) -> None:
    talking = talk(workspace)
    talking.reply(("ping", {}), ("memory_write", SAVE), ("memory_write", OTHER))
    assert talking.approval is not None
    assert talking.approval.tool_call_ids == [str(call.id) for call in talking.calls[1:]]
    assert [row.id for row in list_approvals(workspace, scopes=None, status="pending")] == [
        talking.approval.id
    ]
    assert talking.events()[-1] == "tool.approval_required"
    assert_clean(workspace)


def test_the_same_decision_again_answers_the_same_and_another_one_changes_nothing(
    workspace: Workspace,
) -> None:
    talking = asked(workspace, SAVE, OTHER)
    first = talking.decide("approved", "denied", reason="why")
    assert (first.status, run_of(talking).status) == ("approved", "running")
    again = talking.decide("approved", "denied", reason="why")
    assert (again.id, again.decisions, again.decided_at) == (
        first.id,
        first.decisions,
        first.decided_at,
    )
    for other in (("denied", "denied"), ("approved", "approved")):
        with pytest.raises(Conflict):
            talking.decide(*other, reason="why")
    with pytest.raises(Conflict):
        talking.decide("approved", "denied", reason="why", scope="session")
    assert statuses(talking) == ["approved", "denied"]
    assert talking.events().count("tool.approval_decided") == 1
    assert_clean(workspace)


def test_of_two_people_with_opposite_answers_the_first_one_wins(workspace: Workspace) -> None:
    talking = asked(workspace)
    barrier, lost = Barrier(2), []

    def decide(status: str) -> None:
        try:
            barrier.wait()
            talking.decide(status)
        except Conflict:
            lost.append(status)
        finally:
            connections.close_all()

    threads = [Thread(target=decide, args=(status,)) for status in ("approved", "denied")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lost) == 1
    assert {*statuses(talking), *lost} == {"approved", "denied"}
    talking.take()
    talking.work()
    assert talking.events().count("tool.result") == 1
    talking.end()
    assert_clean(workspace)


def test_a_decision_on_some_of_the_calls_or_on_others_is_refused(workspace: Workspace) -> None:
    talking = asked(workspace, SAVE, OTHER)
    assert talking.approval is not None
    one, two = talking.approval.tool_call_ids
    yes = {"status": "approved"}
    for decisions in (
        [],
        [{"tool_call_id": one, **yes}],
        [{"tool_call_id": one, **yes}, {"tool_call_id": one, **yes}],
        [{"tool_call_id": one, **yes}, {"tool_call_id": str(new_id()), **yes}],
        [{"tool_call_id": one, **yes}, {"tool_call_id": two, "status": "maybe"}],
        [{"tool_call_id": one, **yes}, {"tool_call_id": two, **yes, "reason": "\x00"}],
    ):
        with pytest.raises(InvalidInput) as refused:
            decide_approval(
                workspace,
                scopes=None,
                approval_id=talking.approval.id,
                decisions=decisions,
                scope="once",
                principal=person(workspace),
            )
        assert str(refused.value.field).startswith("decisions")
    assert statuses(talking) == ["pending", "pending"]
    assert_clean(workspace)


def test_who_started_a_run_may_not_approve_what_it_asks_for(workspace: Workspace) -> None:
    starter = key(workspace)
    talking = asked(workspace, by=starter)
    viewer = person(workspace, permissions=frozenset({"memory:read", "memory:all_users"}))
    reader = key(workspace, permissions=frozenset({"memory:read", "memory:write"}))
    for who in (starter, viewer, reader):
        with pytest.raises(PermissionDenied):
            talking.decide("approved", by=who)
    assert talking.decide("approved", by=key(workspace)).decided_by == "key:agent"


@pytest.mark.parametrize("who", [person, lambda w: key(w, permissions=frozenset({"admin"}))])
def test_a_person_or_an_administrator_may_approve_their_own_run(
    workspace: Workspace, who: Callable[[Workspace], Any]
) -> None:
    starter = who(workspace)
    talking = asked(workspace, by=starter)
    assert talking.decide("approved", by=starter).status == "approved"


def test_an_approval_of_another_end_user_is_absent(workspace: Workspace) -> None:
    ana, ben = end_user(workspace, "ana"), end_user(workspace, "ben")
    talking = asked(workspace, user_id=ana)
    assert talking.approval is not None
    with pytest.raises(NotFound):
        get_approval(workspace, scopes=[workspace.pk, ben], approval_id=talking.approval.id)
    with pytest.raises(NotFound):
        decide_approval(
            workspace,
            scopes=[workspace.pk, ben],
            approval_id=talking.approval.id,
            decisions=[],
            scope="once",
            principal=person(workspace),
        )
    assert talking.decide("approved").status == "approved"


def test_an_expired_approval_counts_as_a_denial_with_its_own_reason(workspace: Workspace) -> None:
    talking = asked(workspace)
    assert talking.approval is not None
    late = now() + timedelta(days=2)
    with workspace_scope(workspace):
        workspace.approvals.update(expires_at=now() - timedelta(seconds=1))
    with pytest.raises(Gone):
        talking.decide("approved")
    assert statuses(talking) == ["pending"]
    assert expire_approvals(late) >= 1
    expire_approvals(late)
    assert statuses(talking) == ["denied"]
    assert talking.results() == {"call_0": EXPIRED}
    assert run_of(talking).status == "running"
    with pytest.raises(Gone):
        talking.decide("approved")
    assert talking.events().count("tool.approval_decided") == 1
    assert_clean(workspace)


def test_an_approval_of_a_run_that_was_cancelled_meanwhile_is_a_conflict(
    workspace: Workspace,
) -> None:
    talking = asked(workspace)
    cancel_run(workspace, run=run_of(talking))
    with pytest.raises(Conflict):
        talking.decide("approved")
    assert statuses(talking) == ["cancelled"]
    assert list_approvals(workspace, scopes=None, status="pending") == []
    assert_clean(workspace)


@pytest.mark.parametrize(
    ("scope", "waits_in_the_run", "waits_in_the_session"),
    [("once", True, True), ("run", False, True), ("session", False, False)],
)
def test_an_approval_reaches_the_same_call_as_far_as_it_was_meant(
    workspace: Workspace, scope: str, waits_in_the_run: bool, waits_in_the_session: bool
) -> None:
    delete = {"action": "delete", "name": "nothing"}
    talking = asked(workspace, delete)
    talking.decide("approved", scope=scope)
    talking.take()
    talking.work()
    reordered = '{"name": "nothing",  "action": "delete"}'
    [call] = talking.reply(("memory_write", reordered))
    assert call.needs_approval == waits_in_the_run
    talking.end()
    later = talk_on(workspace, session=talking.session)
    same, other = later.reply(
        ("memory_write", delete), ("memory_write", {**delete, "name": "other"})
    )
    assert (same.needs_approval, other.needs_approval) == (waits_in_the_session, True)
    later.end()
    assert_clean(workspace)


def test_nothing_waits_in_an_autonomous_run(workspace: Workspace) -> None:
    talking = asked(workspace, mode="autonomous")
    assert talking.approval is None
    talking.work()
    assert statuses(talking) == ["succeeded"]


def test_a_decision_that_was_committed_is_gone_on_with_by_another_worker(
    workspace: Workspace,
) -> None:
    talking = asked(workspace, SAVE, OTHER)
    with dies_at("approval.decided"):
        talking.decide("approved", "denied")
    talking.take()
    talking.work()
    assert statuses(talking) == ["succeeded", "denied"]
    assert isinstance(talking.approval, Approval)
    assert talking.decide("approved", "denied").status == "approved"
    talking.end()
    assert_clean(workspace)
