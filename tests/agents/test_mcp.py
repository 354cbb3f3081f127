"""The hot layer over `/mcp`: notes and conversations, of whom one may see."""

import pytest

from agents.hot.text_memory import Writer, upsert_topic
from agents.hot.topics import TopicDraft
from tests.agents.replies import end_user, talk
from tests.api.client import Side, new_side
from tests.mcp.test_tools import call, complaints, tools_of


@pytest.fixture(scope="module")
def side(django_db_setup: None) -> Side:
    made = new_side()
    for scope_id, name in ((made.workspace.id, "roadmap"), (end_user(made.workspace), "口味")):
        topic = TopicDraft(name, f"About {name}.", "A summary")
        upsert_topic(made.workspace, scope_id=scope_id, topic=topic, writer=Writer("tool"))
    talk(made.workspace, content="雅典娜项目下周上线。")
    talk(made.workspace, user_id=end_user(made.workspace), content="雅典娜项目是秘密。")
    return made


def test_the_notes_are_read_from_the_index_to_a_topic(side: Side) -> None:
    index = call(side.caller, "memory_read", workspace="notes")["structuredContent"]
    assert "[roadmap](topics/roadmap.md)" in index["content"]
    topic = call(side.caller, "memory_read", workspace="notes", name="roadmap")
    assert topic["structuredContent"]["content"] == "About roadmap."
    hers = {"workspace": "notes", "scope": "user", "name": "口味"}
    assert call(side.caller, "memory_read", **hers, user_id="ana")["isError"] is False
    assert complaints(call(side.caller, "memory_read", **hers)) == {"": "not_found"}


def test_a_name_that_is_none_is_said_so(side: Side) -> None:
    for name in ("../index", "a/b", "a\nb", "\ud800", "nothing"):
        refused = call(side.caller, "memory_read", workspace="notes", name=name)
        assert complaints(refused) == {"": "not_found"}, name
    wrong = call(side.caller, "memory_read", workspace="notes", name=5)
    assert complaints(wrong) == {"name": "invalid_type"}


def test_conversations_are_searched_within_what_one_may_see(side: Side) -> None:
    def found(**arguments: str) -> list[str]:
        answer = call(side.caller, "memory_search", workspace="notes", **arguments)
        return [hit["text"] for hit in answer["structuredContent"]["results"]]

    assert found(query="雅典娜") == ["雅典娜项目下周上线。"]
    assert found(query="雅典娜", user_id="ana") == ["雅典娜项目是秘密。"]
    assert tools_of(side.caller)["memory_search"]["required"] == ["workspace", "query"]
