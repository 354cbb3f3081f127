"""What is erased is in no conversation, no event, no topic and no history any more."""

import pytest

from agents.exporting import conversations, text_memory
from agents.hot.history import append_history, verify_chain
from agents.hot.text_memory import Writer, upsert_topic
from agents.hot.topics import TopicDraft
from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import HolamemError
from tests.agents.replies import end_user, person, talk, talk_on
from tests.verification import assert_clean
from tests.workspaces.erasing import chinese, english, erased, leaf_of
from tests.workspaces.memory import draft, drain, principal_of, remember
from tests.workspaces.traces import assert_no_trace, chinese_canary, english_canary, tables_holding
from workspaces.models.tenancy import Workspace
from workspaces.services.end_user_view import find_end_user
from workspaces.services.erasure.users import erase_end_user


def erase_person(workspace: Workspace, ref: str) -> None:
    principal = principal_of(workspace)
    user = find_end_user(workspace, principal=principal, ref=ref)
    erase_end_user(workspace, principal=principal, user=user)
    drain(workspace)


def work_again(workspace: Workspace) -> None:
    """What was put off is due now."""
    with workspace_scope(workspace, ALL_SCOPES):
        workspace.jobs.filter(state="ready").update(next_try_at=now())
    drain(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        assert list(workspace.erasures.values_list("status", flat=True)) == ["complete"]


def test_nothing_of_an_erased_person_is_left_in_conversations_text_memory_or_history(
    workspace: Workspace,
) -> None:
    word, other = english_canary(), english_canary()
    ana, ben = end_user(workspace, "ana"), end_user(workspace, "ben")
    talks = []
    for name, user in ((word, ana), (other, ben)):
        talking = talk(workspace, user_id=user, by=person(workspace))
        save = {"action": "save", "name": name, "content": name, "summary": f"About {name}"}
        talking.reply(("memory_write", save), ("memory_search", {"query": name}))
        talking.decide("approved", reason=f"It is {name}.")
        talking.take()
        talking.work()
        talking.say(f"I wrote down {name}.")
        with workspace_scope(workspace, [user]):
            append_history(workspace, scope_id=user, kind="note", payload={"raw": name})
        talks.append(talking)
    erase_person(workspace, "ana")
    assert_no_trace(word)
    talks[0].say(f"I was still writing about {word}.")
    for talking in talks:  # as the worker does that still held it
        talking.end()
    work_again(workspace)
    assert_no_trace(word)
    assert verify_chain(workspace) == []
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.runs.get(scope_id=ana).status == "cancelled"
        assert workspace.sessions.get(scope_id=ana).status == "archived"
        assert workspace.messages.filter(content__contains=other).exists()
        assert workspace.text_memories.filter(name=other.lower()).exists()
        session = workspace.sessions.get(scope_id=ana)
    with pytest.raises(HolamemError):
        talk_on(workspace, session=session)
    with pytest.raises(HolamemError):
        upsert_topic(
            workspace, scope_id=ana, topic=TopicDraft("a", "b", "c"), writer=Writer("tool")
        )
    assert_clean(workspace)


@pytest.mark.slow
def test_an_erased_leaf_goes_from_the_conversations_that_quote_it_and_from_text_memory(
    workspace: Workspace,
) -> None:
    word = english_canary()
    other = "The Atlas gateway supports HTTP/2 and gRPC."
    result, _ = remember(workspace, draft(english(word)), draft(other, minutes=1))
    talking = talk(workspace, by=person(workspace))
    topic = f"# Atlas\n\n{english(word)}\n\n{other}"
    upsert_topic(
        workspace,
        scope_id=workspace.pk,
        topic=TopicDraft("atlas", topic, "The gateway"),
        writer=Writer("tool"),
    )
    talking.reply(("memory_retrieve", {"query": "Who looks after the Atlas gateway?"}))
    talking.work()
    talking.say(f"{other} Ask {word}, she knows. It rains.")
    talking.end()
    apart = talk(workspace, by=person(workspace))
    apart.say("Good night, see you at the gateway.")
    apart.end()
    assert word.lower() in talking.results()["call_0"].lower()
    erased(workspace, leaf_of(result))
    assert_no_trace(word)
    with workspace_scope(workspace):
        said = list(workspace.messages.filter(role="assistant").values_list("content", flat=True))
        [kept] = workspace.text_memories.filter(kind="topic").values_list("content", flat=True)
    assert any(text.startswith(other) and text.endswith("It rains.") for text in said)
    assert "Good night, see you at the gateway." in said
    assert other in kept
    assert verify_chain(workspace) == []
    assert_clean(workspace)


def test_a_text_memory_topic_whose_name_quotes_an_erased_leaf_is_called_something_else(
    workspace: Workspace,
) -> None:
    """In its row, its versions, the index with its versions, frozen indexes, calls and history."""
    word = english_canary()
    [result] = remember(workspace, draft(english(word)))
    kept = "It was bought in spring."
    talking = talk(workspace, by=person(workspace), mode="autonomous")
    name = f"{word} at night"
    save = {"action": "save", "name": name, "content": kept, "summary": f"What {word} bought"}
    talking.reply(("memory_write", save))
    talking.work()
    upsert_topic(
        workspace,
        scope_id=workspace.pk,
        topic=TopicDraft(name, f"{kept} Ask {word} at night.", "What was bought"),
        writer=Writer("tool"),
    )
    talking.end()
    holding = talk(workspace)  # takes the index, and never speaks of it
    reading = talk(workspace)
    reading.reply(("memory_read", {"action": "topic", "name": name}))
    reading.work()
    for talked in (holding, reading):
        talked.end()
    erased(workspace, leaf_of(result))
    assert tables_holding(word) == []
    with workspace_scope(workspace):
        [topic] = workspace.text_memories.filter(kind="topic")
        index = workspace.text_memories.get(kind="index").content
        versions = workspace.text_memory_versions.filter(kind="index")
        lines = list(versions.values_list("content", flat=True))
        assert workspace.history_entries.filter(is_erased=True).count() >= 2
    assert topic.name.startswith("erased-")
    assert topic.content.startswith(kept)
    assert f"[{topic.name}](topics/{topic.name}.md)" in index
    assert all("](topics/erased-" in line for line in lines)
    assert verify_chain(workspace) == []
    assert_clean(workspace)


def test_an_erased_word_that_is_a_state_of_ours_too_leaves_the_state(workspace: Workspace) -> None:
    word = english_canary()
    said = f"{english(word)[:-1]}, which was approved, and denied in a memory_write."
    [result] = remember(workspace, draft(said))
    talking = talk(workspace, by=person(workspace))
    save = {"action": "save", "name": "approved", "content": said, "summary": "approved"}
    talking.reply(("memory_write", save))
    talking.decide("approved", reason=said)
    talking.take()
    talking.work()
    talking.end()
    erased(workspace, leaf_of(result))
    assert_no_trace(word)
    with workspace_scope(workspace):
        decided = workspace.run_events.get(type="tool.approval_decided").payload
        [call] = workspace.tool_calls.all()
    assert [one["status"] for one in decided["decisions"]] == ["approved"]
    assert word not in str(decided)
    assert call.name == "memory_write"
    assert set(call.arguments["content"]) <= {"█", " "}
    assert_clean(workspace)


def test_an_erased_leaf_goes_from_chinese_conversations_too(workspace: Workspace) -> None:
    word = chinese_canary()
    other = "Atlas gateway 网关支持 HTTP/2。"
    result, _ = remember(workspace, draft(chinese(word)), draft(other, minutes=1))
    talking = talk(workspace, by=person(workspace))
    talking.say(f"{other}{chinese(word)}请联系{word}。")
    talking.end()
    erased(workspace, leaf_of(result))
    assert_no_trace(word)
    with workspace_scope(workspace):
        [said] = workspace.messages.filter(role="assistant").values_list("content", flat=True)
    assert said.startswith(other)
    assert_clean(workspace)


def test_a_persons_export_has_their_conversations_and_text_memory(workspace: Workspace) -> None:
    ana, ben = end_user(workspace, "ana"), end_user(workspace, "ben")
    for user, text in ((ana, "Ana's words."), (ben, "Ben's words.")):
        talking = talk(workspace, user_id=user)
        talking.say(text)
        talking.end()
    upsert_topic(
        workspace,
        scope_id=ana,
        topic=TopicDraft("饮食", "吃素。", "饮食习惯"),
        writer=Writer("tool"),
    )
    user = find_end_user(workspace, principal=principal_of(workspace), ref="ana")
    [session] = conversations(workspace, user)
    assert [message["text"] for message in session["messages"]] == [
        "Do it, please.",
        "Ana's words.",
    ]
    assert [(row["kind"], row["name"]) for row in text_memory(workspace, user)] == [
        ("index", "index"),
        ("topic", "饮食"),
    ]
