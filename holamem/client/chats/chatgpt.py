"""ChatGPT's `conversations.json`: each conversation is a tree of messages with a current end."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from holamem.client.chats.messages import ChatMessage, Found, Role, moment_of, text_at

SOURCE = "chatgpt"
ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}
SPOKEN = frozenset({"text", "multimodal_text"})
TOOL_OUTPUT = frozenset({"text", "execution_output", "tether_quote", "tether_browsing_display"})


def is_conversation(data: Any) -> bool:
    return isinstance(data, Mapping) and isinstance(data.get("mapping"), Mapping)


def read_conversation(data: Mapping[str, Any], *, found: Found) -> None:
    """The messages of the branch that the person last saw, in order."""
    found.formats.add(SOURCE)
    nodes = data["mapping"]
    branch = _branch(data, nodes)
    said = [node for node in nodes.values() if _has_message(node)]
    found.left_out["on another branch"] += len(said) - sum(_has_message(n) for n in branch)
    for node in branch:
        if _has_message(node):
            _read_message(node["message"], conversation=data, found=found)


def _has_message(node: Any) -> bool:
    return isinstance(node, Mapping) and isinstance(node.get("message"), Mapping)


def _branch(data: Mapping[str, Any], nodes: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """From the root to the current node; a link that leads back ends the walk."""
    place, walked = data.get("current_node"), dict[str, Mapping[str, Any]]()
    if place not in nodes:
        place = _latest(nodes)
    while isinstance(place, str) and place not in walked and isinstance(nodes.get(place), Mapping):
        walked[place] = nodes[place]
        place = nodes[place].get("parent")
    return list(reversed(walked.values()))


def _latest(nodes: Mapping[str, Any]) -> str | None:
    """Where no end is named: the message that was written last."""
    times = {
        name: moment_of(node["message"].get("create_time"))
        for name, node in nodes.items()
        if _has_message(node)
    }
    dated = {name: moment for name, moment in times.items() if moment is not None}
    if dated:
        return max(dated, key=lambda name: dated[name])
    return next(reversed(times), None)


def _read_message(
    message: Mapping[str, Any], *, conversation: Mapping[str, Any], found: Found
) -> None:
    role = text_at(message, "author", "role")
    reason = _reason_to_leave_out(message, role=role)
    if reason is not None:
        found.left_out[reason] += 1
        return
    conversation_id = text_at(conversation, "conversation_id") or text_at(conversation, "id")
    found.add(
        ChatMessage(
            source=SOURCE,
            conversation_id=conversation_id or text_at(conversation, "current_node"),
            message_id=text_at(message, "id"),
            role=ROLES[role],
            text="\n".join(_texts(message["content"])),
            sent_at=moment_of(message.get("create_time"))
            or moment_of(conversation.get("create_time")),
            title=text_at(conversation, "title"),
            model=text_at(message, "metadata", "model_slug"),
        )
    )


def _reason_to_leave_out(message: Mapping[str, Any], *, role: str) -> str | None:
    content, metadata = message.get("content"), message.get("metadata")
    if role not in ROLES:
        return "system" if role == "system" else "of an unknown role"
    if isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation"):
        return "hidden"
    if message.get("recipient") not in (None, "all"):
        return "calls of tools"
    kind = text_at(content, "content_type")
    if kind not in (TOOL_OUTPUT if role == "tool" else SPOKEN):
        return "reasoning, code or settings"
    return None


def _texts(content: Mapping[str, Any]) -> Iterator[str]:
    """Strings and transcripts of speech; pictures and files have no text."""
    parts = content.get("parts")
    if isinstance(parts, Sequence) and not isinstance(parts, str):
        for part in parts:
            text = part if isinstance(part, str) else text_at(part, "text")
            if text:
                yield text
    elif text := text_at(content, "text") or text_at(content, "result"):
        yield text
