"""Chat messages, as model services shape them, become drafts of events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holamem.clock import offset_minutes
from holamem.errors import InvalidInput
from holamem.text.normalise import is_blank
from workspaces.models.log import Event
from workspaces.services.intake import EventDraft
from workspaces.services.tool_results import tells_success

ROLE_KINDS = {
    "user": Event.Kind.USER_MESSAGE,
    "assistant": Event.Kind.ASSISTANT_TURN,
    "tool": Event.Kind.TOOL_RESULT,
}


def messages_to_drafts(
    messages: Sequence[Mapping[str, object]], *, user_id: str | None, session: str
) -> list[EventDraft]:
    """Chat messages in the OpenAI or Anthropic shape; system text is left out, tool results kept.

    `created_at` is an aware datetime or absent. Raises InvalidInput naming messages[i].
    """
    drafts: list[EventDraft] = []
    for index, message in enumerate(messages):
        created_at = _moment(message.get("created_at"))
        drafts += [
            EventDraft(
                kind=part.kind,
                text=part.text,
                occurred_at=created_at,
                offset_minutes=offset_minutes(created_at),
                user_id=user_id,
                session=session,
                actor=str(message.get("name") or ""),
                succeeded=part.succeeded,
            )
            for part in _message_parts(message, index=index)
        ]
    return drafts


def _moment(value: object) -> datetime | None:
    return value if isinstance(value, datetime) else None


@dataclass(frozen=True, slots=True)
class _Part:
    """`succeeded` is set on tool results only."""

    kind: str
    text: str
    succeeded: bool | None = None


def _message_parts(message: Mapping[str, object], *, index: int) -> list[_Part]:
    role, content = message.get("role"), message.get("content")
    if role in ("system", "developer"):
        return []
    if not isinstance(role, str) or role not in ROLE_KINDS:
        raise InvalidInput("Unknown role.", field=f"messages[{index}].role")
    if isinstance(content, str):
        return [] if is_blank(content) else [_part(ROLE_KINDS[role], content)]
    if content is None:
        return []
    if not isinstance(content, Sequence):
        raise InvalidInput("Expected text or parts.", field=f"messages[{index}].content")
    return [part for block in content for part in _block_parts(block, kind=ROLE_KINDS[role])]


def _block_parts(block: object, *, kind: str) -> list[_Part]:
    """Text parts keep the message's kind; an Anthropic tool_result block becomes a tool result."""
    if not isinstance(block, Mapping):
        return []
    if block.get("type") != "tool_result":
        text = block.get("text")
        return [_part(kind, text)] if isinstance(text, str) and not is_blank(text) else []
    content = block.get("content")
    if isinstance(content, str):
        inner: Sequence[object] = [{"type": "text", "text": content}]
    else:
        inner = content if isinstance(content, Sequence) else []
    parts = [part for item in inner for part in _block_parts(item, kind=Event.Kind.TOOL_RESULT)]
    # The flag is optional: without it the words count, with it they do not.
    flag = block.get("is_error")
    return (
        [replace(part, succeeded=not flag) for part in parts] if isinstance(flag, bool) else parts
    )


def _part(kind: str, text: str) -> _Part:
    return _Part(kind, text, tells_success(text) if kind == Event.Kind.TOOL_RESULT else None)
