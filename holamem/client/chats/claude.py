"""Claude's `conversations.json`: each conversation lists its messages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from holamem.client.chats.messages import ChatMessage, Found, Role, moment_of, text_at

SOURCE = "claude"
ROLES: Mapping[str, Role] = {"human": "user", "assistant": "assistant"}


def is_conversation(data: Any) -> bool:
    return isinstance(data, Mapping) and isinstance(data.get("chat_messages"), list)


def read_conversation(data: Mapping[str, Any], *, found: Found) -> None:
    """The messages of the present branch where one is named, else all of them, in order."""
    found.formats.add(SOURCE)
    messages = [item for item in data["chat_messages"] if isinstance(item, Mapping)]
    branch = _branch(messages, end=text_at(data, "current_leaf_message_uuid"))
    found.left_out["on another branch"] += len(messages) - len(branch)
    for message in branch:
        _read_message(message, conversation=data, found=found)


def _branch(messages: Sequence[Mapping[str, Any]], *, end: str) -> list[Mapping[str, Any]]:
    by_id = {text_at(message, "uuid"): message for message in messages}
    if end not in by_id:
        return list(messages)
    walked: dict[str, Mapping[str, Any]] = {}
    while end in by_id and end not in walked:
        walked[end] = by_id[end]
        end = text_at(by_id[end], "parent_message_uuid")
    return list(reversed(walked.values()))


def _read_message(
    message: Mapping[str, Any], *, conversation: Mapping[str, Any], found: Found
) -> None:
    role = ROLES.get(text_at(message, "sender"))
    if role is None:
        found.left_out["of an unknown role"] += 1
        return
    blocks = message.get("content")
    blocks = blocks if isinstance(blocks, list) else []
    said = "\n".join(_texts(blocks)) or text_at(message, "text")
    message_id = text_at(message, "uuid")
    spoken = ChatMessage(
        source=SOURCE,
        conversation_id=text_at(conversation, "uuid"),
        message_id=message_id,
        role=role,
        text=said,
        sent_at=moment_of(message.get("created_at")) or moment_of(conversation.get("created_at")),
        title=text_at(conversation, "name"),
    )
    found.add(spoken)
    for place, (text, succeeded) in enumerate(tool_results(blocks)):
        found.add(
            replace(
                spoken,
                message_id=f"{message_id}/{place}",
                role="tool",
                text=text,
                succeeded=succeeded,
            )
        )


def _texts(blocks: Sequence[Any]) -> Iterator[str]:
    for block in blocks:
        if text_at(block, "type") == "text" and (text := text_at(block, "text")):
            yield text


def tool_results(blocks: Sequence[Any]) -> Iterator[tuple[str, bool | None]]:
    """Text and success of each tool result among the content blocks of a message."""
    for block in blocks:
        if text_at(block, "type") != "tool_result":
            continue
        content = block.get("content")
        text = content if isinstance(content, str) else "\n".join(_texts(content or []))
        failed = block.get("is_error")
        yield text, not failed if isinstance(failed, bool) else None
