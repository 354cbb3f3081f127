"""Sessions as pages: who may talk, what a conversation shows, what its buttons do."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from agents.dashboard.conversation import conversation_of
from agents.events.append import append_event
from agents.models.runs import RunEvent
from agents.services.runs import get_run
from agents.services.sessions import get_session
from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.ids import new_id
from tests.agents import replies
from tests.agents.dashboard.story import answered, failed, queued, waiting
from tests.dashboard.pages import count_queries, messages_in, page_of
from tests.dashboard.people import make_person, signed_in_client
from tests.verification import assert_clean
from workspaces.models.tenancy import Tenant, Workspace


def address(workspace: Workspace, rest: str = "") -> str:
    return f"/w/{workspace.tenant.slug}/{workspace.slug}/{rest}"


def in_role(tenant: Tenant, role: str) -> Client:
    return signed_in_client(make_person(tenant, role=role))


def actions_in(page: str) -> list[str]:
    """What the forms of the conversation are sent to."""
    return re.findall(r'<form method="post" action="([^"]+)"', page.split('id="conversation"')[-1])


def test_a_member_starts_a_session_with_a_message(tenant: Tenant, workspace: Workspace) -> None:
    member = in_role(tenant, "member")
    assert "curl" in page_of(member.get(address(workspace, "sessions/")))
    typed = {"agent": "default", "title": "First words", "content": "Which port?\r\nAnd why?"}
    made = member.post(address(workspace, "sessions/"), typed)
    page = page_of(member.get(made["Location"]))
    assert "<h1>First words</h1>" in page
    assert "Which port?\nAnd why?" in page
    assert "queued" in page
    assert "First words" in page_of(member.get(address(workspace, "sessions/?status=active")))
    said = member.post(f"{made['Location']}say/", {"content": "   "})
    assert 'role="alert"' in page_of(said)
    assert_clean(workspace)


def test_a_session_of_somebody_who_is_not_known_is_not_made(
    tenant: Tenant, workspace: Workspace
) -> None:
    member = in_role(tenant, "member")
    for wrong in ({"user": "nobody"}, {"agent": "nobody"}):
        page = page_of(member.post(address(workspace, "sessions/"), {"agent": "default", **wrong}))
        assert "There is no such" in page.split('role="alert"')[1]
    with workspace_scope(workspace, ALL_SCOPES):
        assert not workspace.sessions.exists()


def test_a_conversation_shows_answers_calls_and_what_they_took(
    tenant: Tenant, workspace: Workspace
) -> None:
    talk = answered(workspace)
    viewer = in_role(tenant, "viewer")
    page = page_of(viewer.get(address(workspace, f"sessions/{talk.session.id}/")))
    assert "<strong>port 8443</strong>" in page
    assert '<strong class="id">ping</strong>' in page
    assert "succeeded" in page
    assert "1234 tokens in, 56 out" in page
    assert "1234 in, 56 out" in page
    timeline = page_of(viewer.get(address(workspace, f"sessions/{talk.session.id}/timeline/")))
    assert "result of a tool" in timeline
    assert timeline.index("run completed") < timeline.index("run created")
    assert_clean(workspace)


def test_a_viewer_sees_no_button_that_acts(tenant: Tenant, workspace: Workspace) -> None:
    viewer = in_role(tenant, "viewer")
    for talk in (waiting(workspace), answered(workspace)):
        page = page_of(viewer.get(address(workspace, f"sessions/{talk.session.id}/")))
        assert actions_in(page) == []
    assert "New session" not in page_of(viewer.get(address(workspace, "sessions/")))
    typed = {"agent": "default", "content": "Hello"}
    assert viewer.post(address(workspace, "sessions/"), typed).status_code == 403


def test_a_person_approves_what_an_agent_asks_for(tenant: Tenant, workspace: Workspace) -> None:
    talk = waiting(workspace)
    member, base = in_role(tenant, "member"), address(workspace, f"sessions/{talk.session.id}/")
    page = page_of(member.get(base))
    assert "The agent asks to call a tool" in page
    assert "Write short sentences." in page
    [decide] = [action for action in actions_in(page) if action.endswith("/decide/")]
    assert member.post(decide, {"all": "approved", "scope": "session"}).status_code == 302
    after = page_of(member.get(base))
    assert "runs once" in messages_in(after)
    assert "The agent asks" not in after
    [call] = talk.reload()
    assert call.status == "approved"
    member.post(decide, {"all": "denied"})
    assert "decided already" in messages_in(page_of(member.get(base)))
    assert talk.reload()[0].status == "approved"
    talk.take()
    assert [call.status for call in talk.work()] == ["succeeded"]
    talk.end()
    assert_clean(workspace)


def test_several_calls_are_decided_at_once_each_with_its_reason(
    tenant: Tenant, workspace: Workspace
) -> None:
    talk = waiting(workspace, calls=2)
    first, second = (str(call.id) for call in talk.calls)
    member, base = in_role(tenant, "member"), address(workspace, f"sessions/{talk.session.id}/")
    [decide] = [a for a in actions_in(page_of(member.get(base))) if a.endswith("/decide/")]
    partly = {f"decision-{first}": "approved", "scope": "once"}
    member.post(decide, partly)
    assert "needs its decision" in messages_in(page_of(member.get(base)))
    assert {call.status for call in talk.reload()} == {"pending"}
    member.post(
        decide, {**partly, f"decision-{second}": "denied", f"reason-{second}": "Not\x00 this one."}
    )
    assert [(call.status, call.reason) for call in talk.reload()] == [
        ("approved", ""),
        ("denied", "Not this one."),
    ]
    assert '<p class="meta">Not this one.</p>' in page_of(member.get(base))


def test_a_run_is_cancelled_and_a_failed_one_tried_again(
    tenant: Tenant, workspace: Workspace
) -> None:
    member = in_role(tenant, "member")
    session, run = queued(workspace)
    base = address(workspace, f"sessions/{session.id}/")
    [cancel] = [a for a in actions_in(page_of(member.get(base))) if a.endswith("/cancel/")]
    assert member.post(cancel).status_code == 302
    assert get_run(workspace, scopes=ALL_SCOPES, run_id=run.id).status == "cancelled"
    lost = address(workspace, f"sessions/{failed(workspace).id}/")
    page = page_of(member.get(lost))
    assert "the model service failed" in page
    assert "The model service did not answer." in page
    [retry] = [a for a in actions_in(page) if a.endswith("/retry/")]
    assert member.post(retry).status_code == 302
    assert "tried again" in page_of(member.get(lost)).split('id="talk"')[1]
    assert_clean(workspace)


def test_a_run_that_was_left_lying_is_continued(tenant: Tenant, workspace: Workspace) -> None:
    session, _run = queued(workspace)
    member, base = in_role(tenant, "member"), address(workspace, f"sessions/{session.id}/")
    assert not [a for a in actions_in(page_of(member.get(base))) if a.endswith("/continue/")]
    with workspace_scope(workspace):
        workspace.sessions.update(updated_at=now() - timedelta(minutes=2))
    [go_on] = [a for a in actions_in(page_of(member.get(base))) if a.endswith("/continue/")]
    assert member.post(go_on).status_code == 302
    assert "as soon as a runner is free" in messages_in(page_of(member.get(base)))
    answered_run = answered(workspace).run
    member.post(address(workspace, f"runs/{answered_run.id}/continue/"))
    done = page_of(member.get(address(workspace, f"sessions/{answered_run.session_id}/")))
    assert "has completed already" in messages_in(done)


def test_a_session_is_renamed_and_archived_and_a_message_deleted(
    tenant: Tenant, workspace: Workspace
) -> None:
    talk = answered(workspace)
    member, base = in_role(tenant, "member"), address(workspace, f"sessions/{talk.session.id}/")
    member.post(f"{base}change/", {"title": "Renamed", "agent": "default"})
    page = page_of(member.get(base))
    assert "<h1>Renamed</h1>" in page
    deletes = [action for action in actions_in(page) if "/messages/" in action]
    assert member.post(deletes[-1]).status_code == 302
    assert "port 8443" not in page_of(member.get(base)).split('id="talk"')[1]
    assert member.post(f"{base}archive/").status_code == 302
    archived = page_of(member.get(base))
    assert "can be read, not continued" in archived
    assert f"{base}say/" not in actions_in(archived)
    assert_clean(workspace)


def test_the_page_ends_where_the_stream_goes_on(tenant: Tenant, workspace: Workspace) -> None:
    talk = replies.talk(workspace)
    turn_id = new_id()
    with talk.step() as session:
        talk.run.current_turn_id = turn_id
        talk.run.save(update_fields=["current_turn_id"])
        for text in ("The Atlas ", "gateway"):
            append_event(
                workspace,
                session=session,
                type=RunEvent.Type.ASSISTANT_DELTA,
                payload={"text": text},
                run_id=talk.run.id,
                turn_id=turn_id,
            )
    found = get_session(workspace, scopes=ALL_SCOPES, session_id=talk.session.id)
    shown = conversation_of(workspace, scopes=ALL_SCOPES, session=found)
    assert (shown.live, shown.seq) == ("The Atlas gateway", found.last_event_seq)
    stream = address(workspace, f"sessions/{found.id}/stream/")
    member = in_role(tenant, "member")
    answer = member.get(f"{stream}?after={shown.seq - 1}", headers={"Last-Event-ID": "none"})
    assert answer["Content-Type"].startswith("text/event-stream")
    assert answer.content.decode().count("event: assistant.delta") == 1
    assert Client().get(stream).status_code == 302
    talk.end()


def test_an_answer_is_no_markup_of_its_own(tenant: Tenant, workspace: Workspace) -> None:
    session, _run = queued(workspace, content="<script>alert(1)</script> <b>bold</b>")
    page = page_of(in_role(tenant, "viewer").get(address(workspace, f"sessions/{session.id}/")))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<b>bold" not in page


@pytest.mark.parametrize("rest", ["", "timeline/"])
def test_a_longer_conversation_takes_no_more_queries(
    tenant: Tenant, workspace: Workspace, rest: str
) -> None:
    talk = answered(workspace)
    base = address(workspace, f"sessions/{talk.session.id}/{rest}")
    member = in_role(tenant, "member")
    member.get(base)
    few = count_queries(member, base)
    for _ in range(3):
        more = replies.talk_on(workspace, session=talk.session)
        more.reply(("ping", {}))
        more.work()
        more.end()
    assert count_queries(member, base) == few
