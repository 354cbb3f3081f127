"""What an import would send: events with their own times and ids, oldest first."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from holamem.client.chats.files import read_chats
from holamem.client.chats.messages import ChatMessage, Found, NoMessages

KINDS = {"user": "user_message", "assistant": "assistant_turn", "tool": "tool_result"}
# The server takes 1 MB of UTF-8; a longer message becomes several events.
PART_CHARACTERS = 200_000
ID_CHARACTERS = 100
TITLE_CHARACTERS = 300
SAMPLE = 5
PLAIN_ID = re.compile(r"[A-Za-z0-9._:/-]{1,100}")
# No text may hold these: null, surrogates without a partner, invisible tag characters.
FORBIDDEN = re.compile("[\x00\ud800-\udfff\U000e0000-\U000e007f]")
CLOCK_SKEW = timedelta(hours=23)

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """`user_id`: whose private memory it becomes; without one it is shared.

    Results of tools are left out unless asked for: most are whole files and pages.
    """

    user_id: str | None = None
    with_tool_results: bool = False
    with_assistant: bool = True
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class ChatPreview:
    """`events` by kind; `left_out` by reason; `sample` as the first events would be sent."""

    formats: tuple[str, ...]
    conversations: int
    events: Mapping[str, int]
    characters: int
    first_at: datetime | None
    last_at: datetime | None
    left_out: Mapping[str, int]
    sample: tuple[Mapping[str, Any], ...]

    @property
    def total(self) -> int:
        return sum(self.events.values())


@dataclass(frozen=True, slots=True)
class ImportPlan:
    events: Sequence[Event]
    preview: ChatPreview


def plan_import(path: Path, *, options: ChatOptions) -> ImportPlan:
    """Raises UnreadableChats, and NoMessages when there is nothing to send."""
    found = read_chats(path)
    wanted = _ordered(_wanted(found, options=options), found=found)
    if not wanted:
        raise NoMessages(_nothing(path, found=found))
    events = [event for message in wanted for event in _events(message, options=options)]
    return ImportPlan(events, _preview(found, messages=wanted, events=events))


def preview_chats(path: str | Path, options: ChatOptions | None = None) -> ChatPreview:
    """What an import would send; needs no server. Raises as `plan_import` does."""
    return plan_import(Path(path), options=options or ChatOptions()).preview


def _nothing(path: Path, *, found: Found) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(found.left_out.items()))
    return f"{path} holds no message that could be sent ({reasons or 'it is empty'})."


def _wanted(found: Found, *, options: ChatOptions) -> Iterator[ChatMessage]:
    for message in found.messages:
        reason = _reason_to_leave_out(message, options=options)
        if reason is None:
            yield message
        else:
            found.left_out[reason] += 1


def _reason_to_leave_out(message: ChatMessage, *, options: ChatOptions) -> str | None:
    if message.role == "tool" and not options.with_tool_results:
        return "results of tools"
    if message.role == "assistant" and not options.with_assistant:
        return "of the assistant"
    if options.since is not None and (message.sent_at is None or message.sent_at < options.since):
        return "before the wanted time"
    return None


def _ordered(messages: Iterator[ChatMessage], *, found: Found) -> list[ChatMessage]:
    """By time, so that what is newer takes the place of what is older; each message once.

    A message without a time stands where its conversation put it.
    """
    latest = datetime.now(UTC) + CLOCK_SKEW
    known: dict[tuple[str, str], tuple[datetime, ChatMessage]] = {}
    last: dict[str, datetime] = {}
    for message in messages:
        usable = message.sent_at is not None and message.sent_at <= latest
        before = last.get(message.conversation_id, datetime.min.replace(tzinfo=UTC))
        moment = message.sent_at if usable and message.sent_at is not None else before
        last[message.conversation_id] = max(before, moment)
        name = (message.source, external_id(message))
        if name in known:
            found.left_out["sent twice"] += 1
        else:
            known[name] = (moment, message)
    return [message for _, message in sorted(known.values(), key=lambda pair: pair[0])]


def _events(message: ChatMessage, *, options: ChatOptions) -> Iterator[Event]:
    text = FORBIDDEN.sub("\ufffd", message.text)
    name = external_id(message)
    for place, part in enumerate(_parts(text)):
        event: Event = {
            "kind": KINDS[message.role],
            "text": part,
            "session": plain_id(message.conversation_id or "unknown"),
            "source": message.source,
            "external_id": name if place == 0 else f"{name}#{place}",
            "metadata": _metadata(message),
        }
        if message.sent_at is not None and message.sent_at <= datetime.now(UTC) + CLOCK_SKEW:
            event["occurred_at"] = message.sent_at.isoformat()
        if options.user_id is not None:
            event["user_id"] = options.user_id
        if message.succeeded is not None:
            event["succeeded"] = message.succeeded
        yield event


def _parts(text: str) -> list[str]:
    cut = [text[start : start + PART_CHARACTERS] for start in range(0, len(text), PART_CHARACTERS)]
    return [part for part in cut if part.strip()]


def _metadata(message: ChatMessage) -> dict[str, str]:
    given = {"title": message.title[:TITLE_CHARACTERS], "model": message.model[:ID_CHARACTERS]}
    return {name: FORBIDDEN.sub("\ufffd", value) for name, value in given.items() if value}


def external_id(message: ChatMessage) -> str:
    """Of the message itself, so that a copy of it in another session's file is the same one.

    A message without an id is named by its conversation, time and words.
    """
    if message.message_id and not message.message_id.startswith("/"):
        return plain_id(message.message_id)
    parts = (message.conversation_id, message.role, str(message.sent_at), message.text)
    return _digest("\x00".join(parts))


def plain_id(value: str) -> str:
    return value if PLAIN_ID.fullmatch(value) else _digest(value)


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def _preview(
    found: Found, *, messages: Sequence[ChatMessage], events: Sequence[Event]
) -> ChatPreview:
    times = sorted(message.sent_at for message in messages if message.sent_at is not None)
    return ChatPreview(
        formats=tuple(sorted(found.formats)),
        conversations=len({(m.source, m.conversation_id) for m in messages}),
        events=dict(Counter(event["kind"] for event in events)),
        characters=sum(len(event["text"]) for event in events),
        first_at=times[0] if times else None,
        last_at=times[-1] if times else None,
        left_out={reason: count for reason, count in sorted(found.left_out.items()) if count},
        sample=tuple(events[:SAMPLE]),
    )
