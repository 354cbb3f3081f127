"""What was said is found again: in both languages, in the caller's scopes, and in no other."""

from agents.events.append import append_event
from agents.hot.message_index import MessageHit, search_messages
from agents.models.conversations import Message, Session
from agents.services.messages import delete_message, insert_message, message_payload
from agents.services.sessions import create_session, session_scopes
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.ids import new_id
from tests.agents.replies import end_user, person, talk
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace


def say(session: Session, text: str, *, role: str = "user") -> Message:
    workspace = session.workspace
    with workspace_scope(workspace, session_scopes(session)):
        message_id = new_id()
        payload = message_payload(message_id, content=text)
        event = append_event(workspace, session=session, type="assistant.message", payload=payload)
        return insert_message(
            workspace, session=session, role=role, content=text, event_seq=event.seq, id=message_id
        )


def texts(hits: list[MessageHit]) -> list[str]:
    return [hit.text for hit in hits]


def test_messages_are_found_by_words_of_both_languages(workspace: Workspace) -> None:
    session = create_session(workspace, scope_id=workspace.pk)
    say(session, "The Grafana dashboards live on monitor.internal:3000.")
    say(session, "支付网关在生产环境使用 9000 端口。", role="assistant")
    say(session, "Something else was said about cooking.")

    def find(query: str) -> list[str]:
        return texts(search_messages(workspace, scopes=None, query=query))

    assert find("Where is Grafana?")[0].startswith("The Grafana")
    assert find("支付网关的端口是什么") == ["支付网关在生产环境使用 9000 端口。"]
    assert find("monitor.internal:3000")[0].startswith("The Grafana")
    assert find("?!") == []
    assert find("") == []
    assert_clean(workspace)


def test_the_message_with_more_of_the_words_comes_first(workspace: Workspace) -> None:
    session = create_session(workspace, scope_id=workspace.pk)
    both = "The rollout of Atlas was moved to Friday."
    say(session, both)
    say(session, "Atlas Atlas Atlas.")
    hits = search_messages(workspace, scopes=None, query="When is the Atlas rollout?")
    assert texts(hits)[0] == both


def test_messages_of_other_scopes_and_workspaces_are_not_found(
    workspace: Workspace, tenant: object
) -> None:
    from workspaces.services.tenants import create_workspace

    other = create_workspace(tenant, slug=f"{workspace.slug[:20]}-b", name="B")  # type: ignore[arg-type]
    ana, ben = end_user(workspace, "ana"), end_user(workspace, "ben")
    for scope in (workspace.pk, ana, ben):
        say(create_session(workspace, scope_id=scope), f"zebra {scope}")
    say(create_session(other, scope_id=other.pk), "zebra elsewhere")
    found = search_messages(workspace, scopes=[workspace.pk, ana], query="zebra")
    assert set(texts(found)) == {f"zebra {workspace.pk}", f"zebra {ana}"}
    everything = search_messages(workspace, scopes=ALL_SCOPES, query="zebra")
    assert len(everything) == 3


def test_a_deleted_message_is_found_no_more(workspace: Workspace) -> None:
    session = create_session(workspace, scope_id=workspace.pk)
    message = say(session, "A zebra crossed the road.")
    delete_message(workspace, scopes=None, session_id=session.id, message_id=message.id)
    assert search_messages(workspace, scopes=None, query="zebra") == []
    with workspace_scope(workspace):
        assert workspace.message_entries.count() == 0
        assert workspace.messages.get(id=message.id).content == "A zebra crossed the road."
    assert_clean(workspace)


def test_what_memory_search_answered_is_not_found_again(workspace: Workspace) -> None:
    talking = talk(workspace, by=person(workspace))
    say(talking.session, "The zebra has stripes.")
    talking.reply(("memory_search", {"query": "zebra"}))
    talking.work()
    assert "stripes" in talking.results()["call_0"]
    assert texts(search_messages(workspace, scopes=None, query="zebra stripes")) == [
        "The zebra has stripes."
    ]
    talking.end()
    assert_clean(workspace)
