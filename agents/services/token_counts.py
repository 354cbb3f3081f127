"""How many tokens a request takes: our own count, corrected by what the service reports.

What a service counted for a request of ours tells how far off our count is for its model; the
last few reports are kept for the life of the process.
"""

import json
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from holamem.text.tokens import count_tokens

MESSAGE_TOKENS = 4  # the marks around each message
NEWEST_SHARE = 0.3  # of the newest report in the correction
BOUNDS = (0.5, 3.0)  # beyond, the report is about something else
SMALLEST_REQUEST = 100  # tokens; of less, the fixed part of a template says more than the text

_factors: dict[str, float] = {}
_lock = Lock()


def count_messages(
    messages: Sequence[Mapping[str, Any]], *, tools: Sequence[Mapping[str, Any]] = ()
) -> int:
    total = sum(count_tokens(json.dumps(tool, ensure_ascii=False)) for tool in tools)
    for message in messages:
        total += MESSAGE_TOKENS + count_tokens(str(message.get("content") or ""))
        for call in message.get("tool_calls", ()):
            total += count_tokens(json.dumps(call["function"], ensure_ascii=False))
    return total


def corrected(tokens: int, *, model: str) -> int:
    return round(tokens * _factors.get(model, 1.0))


def learn(*, model: str, counted: int, reported: int) -> None:
    """`counted` is ours without the correction."""
    if counted < SMALLEST_REQUEST or reported <= 0:
        return
    factor = min(max(reported / counted, BOUNDS[0]), BOUNDS[1])
    with _lock:
        known = _factors.get(model)
        _factors[model] = factor if known is None else known + NEWEST_SHARE * (factor - known)


def forget() -> None:
    with _lock:
        _factors.clear()
