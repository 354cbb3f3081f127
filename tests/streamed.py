"""Streams of the OpenAI protocol, frame by frame, for `tests.openai_server`."""

import json
from collections.abc import Sequence
from threading import Event
from typing import Any

from tests.openai_server import JSON, Behaviour, Reply

USAGE: JSON = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
DONE = "data: [DONE]\n\n"
Frame = str | float | Event


def frame(
    delta: JSON | None = None, *, finish: str | None = None, usage: JSON | None = None
) -> str:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    body: JSON = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "scripted",
        "choices": choices,
    }
    if usage is not None:
        body["usage"] = usage
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


def words(*texts: str) -> list[str]:
    return [frame({"content": text}) for text in texts]


def ending(reason: str = "stop", *, usage: JSON | None = USAGE) -> list[str]:
    counts = [] if usage is None else [frame(usage=usage)]
    return [frame({}, finish=reason), *counts, DONE]


def streams(*frames: Frame) -> Behaviour:
    """Exactly these frames; nothing more comes after the last one."""
    return lambda request: Reply("", frames=frames)


def says(*texts: str, usage: JSON | None = USAGE, finish: str = "stop") -> Behaviour:
    return streams(*words(*texts), *ending(finish, usage=usage))


def call_piece(index: int | None, **fields: Any) -> str:
    """`fields`: id, name, arguments."""
    function = {name: fields[name] for name in ("name", "arguments") if name in fields}
    piece: JSON = {"index": index, "type": "function", "function": function}
    if "id" in fields:
        piece["id"] = fields["id"]
    return frame({"tool_calls": [piece]})


def calls(*asked: tuple[str, JSON], text: str = "", ids: Sequence[str] = ()) -> Behaviour:
    """Tool calls by name and arguments, each in pieces of a few characters."""
    frames = words(text) if text else []
    for index, (name, arguments) in enumerate(asked):
        call_id = ids[index] if ids else f"call_{name}_{index}"
        frames.append(call_piece(index, id=call_id, name=name, arguments=""))
        written = json.dumps(arguments, ensure_ascii=False)
        frames += [
            call_piece(index, arguments=written[start : start + 5])
            for start in range(0, len(written), 5)
        ]
    return streams(*frames, *ending("tool_calls"))
