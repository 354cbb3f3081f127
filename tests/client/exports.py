"""Exports as the products write them, with the parts that importers stumble over."""

import json
import zipfile
from pathlib import Path
from typing import Any

DAY = 1_747_706_400.0  # 20 May 2025, 02:00 UTC


def gpt_node(
    name: str, parent: str | None, role: str, parts: list[Any] | None, at: float, **values: Any
) -> dict[str, Any]:
    message: Any = {
        "id": f"m-{name}",
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": DAY + at,
        "content": {"content_type": values.pop("content_type", "text"), "parts": parts},
        "status": "finished_successfully",
        "recipient": values.pop("recipient", "all"),
        "metadata": values.pop("metadata", {"model_slug": "gpt-5"}),
    }
    return {
        "id": name,
        "parent": parent,
        "children": [],
        "message": None if parts is None else message,
    }


def chatgpt() -> list[dict[str, Any]]:
    """Two conversations: an English one with an edited question, and a Chinese one."""
    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = [
        gpt_node("root", None, "system", None, 0),
        gpt_node("sys", "root", "system", [""], 1, metadata=hidden),
        gpt_node("ctx", "sys", "user", ["profile"], 1.5, content_type="user_editable_context"),
        gpt_node("q-old", "ctx", "user", ["Our gateway is called Zeus."], 2),
        gpt_node("a-old", "q-old", "assistant", ["Noted: Zeus."], 3),
        gpt_node("q", "ctx", "user", ["Our gateway is called Atlas."], 4),
        gpt_node("call", "q", "assistant", ["search(...)"], 5, recipient="browser"),
        gpt_node("tool", "call", "tool", ["A page about gateways."], 6),
        gpt_node("think", "tool", "assistant", ["…"], 6.5, content_type="thoughts"),
        gpt_node("a", "think", "assistant", ["Noted: Atlas."], 7),
        gpt_node(
            "voice",
            "a",
            "user",
            [
                {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
                {"content_type": "audio_transcription", "text": "It listens on port 8443."},
            ],
            8,
            content_type="multimodal_text",
        ),
    ]
    chinese = [
        gpt_node("根", None, "system", None, 0),
        gpt_node("问", "根", "user", ["我对花生过敏，请记住。"], -86_400),
        gpt_node("答", "问", "assistant", ["好的，我记住了。"], -86_390),
    ]
    return [
        {
            "title": "Gateway",
            "create_time": DAY,
            "update_time": DAY + 9,
            "mapping": {node["id"]: node for node in nodes},
            "current_node": "voice",
            "conversation_id": "68a0c0de-0000-8000-8000-000000000001",
        },
        {
            "title": "过敏",
            "create_time": DAY - 86_400,
            "mapping": {node["id"]: node for node in chinese},
            "current_node": "答",
            "id": "68a0c0de-0000-8000-8000-000000000002",
        },
    ]


def claude() -> list[dict[str, Any]]:
    return [
        {
            "uuid": "0f000000-0000-4000-8000-000000000001",
            "name": "搬家",
            "created_at": "2025-06-01T08:00:00.000000Z",
            "updated_at": "2025-06-01T08:05:00.000000Z",
            "account": {"uuid": "acc"},
            "chat_messages": [
                {
                    "uuid": "c-1",
                    "text": "我六月搬到了杭州。",
                    "content": [{"type": "text", "text": "我六月搬到了杭州。"}],
                    "sender": "human",
                    "created_at": "2025-06-01T08:00:01.000000Z",
                    "attachments": [],
                    "files": [{"file_name": "map.png"}],
                },
                {
                    "uuid": "c-2",
                    "text": "",
                    "content": [
                        {"type": "thinking", "thinking": "…"},
                        {"type": "tool_use", "name": "search", "input": {}},
                        {
                            "type": "tool_result",
                            "content": [{"type": "text", "text": "杭州：浙江省会"}],
                            "is_error": False,
                        },
                        {"type": "text", "text": "恭喜！杭州很美。"},
                    ],
                    "sender": "assistant",
                    "created_at": "2025-06-01T08:00:09.000000Z",
                },
                {
                    "uuid": "c-3",
                    "text": "My new desk arrives on 3 July.",
                    "sender": "human",
                    "created_at": "2025-06-01T08:04:00.000000Z",
                },
            ],
        },
        {"uuid": "empty", "name": "", "created_at": "2025-06-02T00:00:00Z", "chat_messages": []},
    ]


def code_line(kind: str, uuid: str, content: Any, minute: int, **values: Any) -> dict[str, Any]:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "cwd": "/home/mara/atlas",
        "sessionId": "5e550000-0000-4000-8000-000000000001",
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": uuid,
        "timestamp": f"2025-07-01T10:{minute:02}:00.000Z",
        **values,
    }


def claude_code() -> str:
    """The lines of a session; the last one was cut off while it was written."""
    result = {"type": "tool_result", "tool_use_id": "t", "content": "3 passed", "is_error": False}
    lines = [
        {"type": "summary", "summary": "Atlas tests", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "y", "snapshot": {}},
        code_line("user", "k-0", "<command-name>/clear</command-name>", 0),
        code_line("user", "k-1", "We release Atlas every second Tuesday.", 1),
        code_line(
            "assistant",
            "k-2",
            [
                {"type": "text", "text": "Understood, I will plan for that."},
                {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "make test"}},
            ],
            2,
        ),
        code_line("user", "k-3", [result], 3),
        code_line("user", "k-4", "caveat", 4, isMeta=True),
        code_line("user", "k-5", "agent prompt", 5, isSidechain=True),
        code_line("user", "k-6", "测试环境在 staging-2 上。", 6),
    ]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + '\n{"type": "us'


def written(path: Path, data: Any) -> Path:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    return path


def zipped(path: Path, **members: Any) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data if isinstance(data, str | bytes) else json.dumps(data))
    return path
