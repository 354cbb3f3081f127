"""Claude Code's session files: one JSON object a line, written while the session runs."""

import re
from collections.abc import Mapping
from typing import Any

from holamem.client.chats.claude import tool_results
from holamem.client.chats.messages import ChatMessage, Found, Role, moment_of, text_at

SOURCE = "claude-code"
ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}
# What the program itself writes into a user's turn.
WRAPPED = re.compile(r"\s*<(command-|local-command-|bash-|system-reminder|user-prompt-submit-hook)")
INTERRUPTED = "[Request interrupted by user"


def is_line(data: Any) -> bool:
    known = isinstance(data, Mapping) and "type" in data
    return known and ("sessionId" in data or data["type"] in ("summary", "file-history-snapshot"))


def read_line(data: Mapping[str, Any], *, found: Found) -> None:
    found.formats.add(SOURCE)
    reason = _reason_to_leave_out(data)
    if reason is not None:
        found.left_out[reason] += 1
        return
    content = data["message"].get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    said = [
        text
        for block in blocks
        if text_at(block, "type") == "text" and not _is_noise(text := text_at(block, "text"))
    ]
    results = list(tool_results(blocks))
    if said or not results:
        _add(data, role=ROLES[data["type"]], text="\n".join(said), found=found)
    for place, (text, succeeded) in enumerate(results):
        _add(data, role="tool", text=text, found=found, part=f"/{place}", succeeded=succeeded)


def _reason_to_leave_out(data: Mapping[str, Any]) -> str | None:
    if data["type"] not in ROLES or not isinstance(data.get("message"), Mapping):
        return "of the program"
    if data.get("isSidechain") is True:
        return "of a subagent"
    if data.get("isMeta") is True or data.get("isCompactSummary") is True:
        return "of the program"
    return None


def _is_noise(text: str) -> bool:
    return WRAPPED.match(text) is not None or text.startswith(INTERRUPTED)


def _add(
    data: Mapping[str, Any],
    *,
    role: Role,
    text: str,
    found: Found,
    part: str = "",
    succeeded: bool | None = None,
) -> None:
    found.add(
        ChatMessage(
            source=SOURCE,
            conversation_id=text_at(data, "sessionId"),
            message_id=text_at(data, "uuid") + part,
            role=role,
            text=text,
            sent_at=moment_of(data.get("timestamp")),
            title=text_at(data, "cwd"),
            model=text_at(data, "message", "model"),
            succeeded=succeeded,
        )
    )
