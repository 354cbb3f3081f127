"""A chat message of any export, and what was found beside the messages."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from holamem.client.errors import ClientError

Role = Literal["user", "assistant", "tool"]
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


class UnreadableChats(ClientError):
    """The file is not there, is too large, or is none of the known exports."""


class NoMessages(ClientError):
    """The file was read, and held not one message that could be sent."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """`sent_at` is aware, or None when the export has no usable time."""

    source: str
    conversation_id: str
    message_id: str
    role: Role
    text: str
    sent_at: datetime | None
    title: str = ""
    model: str = ""
    succeeded: bool | None = None


@dataclass(slots=True)
class Found:
    """Filled by the readers. `left_out` counts by reason what will not be sent."""

    formats: set[str] = field(default_factory=set)
    conversations: set[str] = field(default_factory=set)
    messages: list[ChatMessage] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, message: ChatMessage) -> None:
        if message.text.strip():
            self.conversations.add(f"{message.source}:{message.conversation_id}")
            self.messages.append(message)
        else:
            self.left_out["empty"] += 1


def text_at(data: Any, *path: str) -> str:
    """The string at the end of the path; empty where anything else is found."""
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data if isinstance(data, str) else ""


def moment_of(value: Any) -> datetime | None:
    """From seconds since 1970, or from an ISO time; without a zone it is UTC."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            return None
        return moment if moment.astimezone(UTC) > EARLIEST else None
    except (ValueError, OverflowError, OSError):
        return None
