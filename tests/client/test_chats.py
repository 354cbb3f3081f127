"""What is read from each export, and what is refused. No server."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holamem.client import ChatOptions, NoMessages, UnreadableChats, preview_chats
from holamem.client.chats.plan import ImportPlan, plan_import
from tests.client import exports


def planned(path: Path, **options: Any) -> ImportPlan:
    return plan_import(path, options=ChatOptions(**options))


def texts(plan: ImportPlan) -> list[str]:
    return [event["text"] for event in plan.events]


def test_chatgpt_gives_the_branch_that_was_seen_last_oldest_first(tmp_path: Path) -> None:
    plan = planned(exports.written(tmp_path / "conversations.json", exports.chatgpt()))
    assert texts(plan) == [
        "我对花生过敏，请记住。",
        "好的，我记住了。",
        "Our gateway is called Atlas.",
        "Noted: Atlas.",
        "It listens on port 8443.",
    ]
    first = plan.events[0]
    assert first["kind"] == "user_message"
    assert datetime.fromisoformat(first["occurred_at"]) == datetime.fromtimestamp(
        exports.DAY - 86_400, UTC
    )
    assert (first["source"], first["metadata"]["title"]) == ("chatgpt", "过敏")
    assert plan.preview.left_out == {
        "calls of tools": 1,
        "on another branch": 2,
        "reasoning, code or settings": 2,
        "results of tools": 1,
        "system": 1,
    }
    assert (plan.preview.conversations, plan.preview.total) == (2, 5)


def test_claude_gives_what_was_said_and_not_what_was_thought(tmp_path: Path) -> None:
    plan = planned(exports.written(tmp_path / "conversations.json", exports.claude()))
    said = ["我六月搬到了杭州。", "恭喜！杭州很美。", "My new desk arrives on 3 July."]
    assert texts(plan) == said
    assert [event["kind"] for event in plan.events] == [
        "user_message",
        "assistant_turn",
        "user_message",
    ]
    with_tools = planned(tmp_path / "conversations.json", with_tool_results=True)
    [result] = [event for event in with_tools.events if event["kind"] == "tool_result"]
    assert (result["text"], result["succeeded"]) == ("杭州：浙江省会", True)


def test_claude_code_gives_people_and_assistant_and_survives_a_cut_line(tmp_path: Path) -> None:
    path = exports.written(tmp_path / "session.jsonl", exports.claude_code())
    plan = planned(path)
    assert texts(plan) == [
        "We release Atlas every second Tuesday.",
        "Understood, I will plan for that.",
        "测试环境在 staging-2 上。",
    ]
    assert plan.preview.left_out == {
        "empty": 1,
        "not recognised": 1,
        "of a subagent": 1,
        "of the program": 3,
        "results of tools": 1,
    }
    # A resumed session's file repeats the lines of the former one.
    exports.written(tmp_path / "resumed.jsonl", exports.claude_code())
    both = planned(tmp_path)
    assert texts(both) == texts(plan)
    assert both.preview.left_out["sent twice"] == 3


def test_an_archive_is_read_in_place(tmp_path: Path) -> None:
    members = {"export/conversations-000.json": exports.chatgpt(), "../../users.json": "{}"}
    assert len(planned(exports.zipped(tmp_path / "export.zip", **members)).events) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["export.zip"]


def test_options_narrow_what_is_sent(tmp_path: Path) -> None:
    path = exports.written(tmp_path / "conversations.json", exports.chatgpt())
    plan = planned(
        path,
        user_id="mara",
        with_assistant=False,
        since=datetime.fromtimestamp(exports.DAY, UTC),
    )
    assert texts(plan) == ["Our gateway is called Atlas.", "It listens on port 8443."]
    assert {event["user_id"] for event in plan.events} == {"mara"}


def test_a_name_of_a_message_does_not_depend_on_its_file(tmp_path: Path) -> None:
    one = planned(exports.written(tmp_path / "conversations.json", exports.chatgpt()))
    two = planned(exports.zipped(tmp_path / "x.zip", **{"conversations.json": exports.chatgpt()}))
    assert one.events == two.events
    names = [event["external_id"] for event in one.events]
    assert len(set(names)) == len(names)


def test_what_no_text_may_hold_is_replaced_and_what_is_too_long_is_cut(tmp_path: Path) -> None:
    conversation = exports.claude()
    conversation[0]["chat_messages"][0]["content"][0]["text"] = "null \x00 and " + "很长" * 150_000
    plan = planned(exports.written(tmp_path / "conversations.json", conversation))
    whole = "".join(event["text"] for event in plan.events if "c-1" in event["external_id"])
    assert "\x00" not in whole
    assert len(whole) == len("null \x00 and ") + 300_000
    assert max(len(event["text"].encode()) for event in plan.events) < 1_000_000


@pytest.mark.parametrize("moment", [None, "soon", -5, 1e300, True, 32_503_680_000])
def test_a_message_without_a_usable_time_keeps_its_place(tmp_path: Path, moment: Any) -> None:
    conversations = exports.chatgpt()[:1]
    del conversations[0]["create_time"]
    conversations[0]["mapping"]["a"]["message"]["create_time"] = moment
    plan = planned(exports.written(tmp_path / "conversations.json", conversations))
    assert texts(plan)[1] == "Noted: Atlas."
    assert "occurred_at" not in plan.events[1]


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        [1, None, "x"],
        [{"title": "no mapping"}],
        [{"mapping": {"a": {"message": None}}, "current_node": "a"}],
        [{"mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}, "current_node": "a"}],
        [{"chat_messages": [None, {"sender": "human"}]}],
    ],
)
def test_no_message_at_all_is_an_error(tmp_path: Path, data: Any) -> None:
    with pytest.raises(NoMessages, match="no message that could be sent"):
        preview_chats(exports.written(tmp_path / "conversations.json", data))


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"PK\x03\x04broken"])
def test_what_is_no_export_is_unreadable(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(raw)
    with pytest.raises(UnreadableChats):
        preview_chats(path)


def test_a_folder_or_archive_without_conversations_is_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path, exports.zipped(tmp_path / "x.zip", **{"a.txt": "x"}), tmp_path / "no"):
        with pytest.raises(UnreadableChats):
            preview_chats(path)


def test_an_archive_that_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    bomb = exports.zipped(tmp_path / "x.zip", **{"conversations.json": b" " * 50_000_000})
    with pytest.raises(UnreadableChats, match="too tightly"):
        preview_chats(bomb)


def test_lines_in_a_json_file_are_read_as_lines(tmp_path: Path) -> None:
    path = exports.written(tmp_path / "conversations.json", exports.claude_code())
    assert len(planned(path).events) == 3


def test_the_preview_shows_what_would_be_sent(tmp_path: Path) -> None:
    found = preview_chats(exports.written(tmp_path / "conversations.json", exports.claude()))
    assert found.events == {"user_message": 2, "assistant_turn": 1}
    assert found.first_at == datetime(2025, 6, 1, 8, 0, 1, tzinfo=UTC)
    assert found.last_at == datetime(2025, 6, 1, 8, 4, tzinfo=UTC)
    assert json.dumps(found.sample[0], ensure_ascii=False).count("杭州") == 1
