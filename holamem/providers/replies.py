"""From the body of a chat reply to a checked value. Nothing here trusts the service."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, TypeGuard

from pydantic import BaseModel, Field, ValidationError

from holamem.providers.base import Reply, Usage

MAX_CANDIDATES = 64  # openings tried in one reply; prose rarely holds more braces
MAX_PROBLEMS_SHOWN = 8
REPAIRABLE = frozenset({"empty", "not_json", "not_object", "schema"})

_FENCE = re.compile(r"```[a-zA-Z0-9_-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)


class UnusableReply(Exception):
    """`kind` is stable; `explanation` may be shown to the model, not to people."""

    def __init__(self, kind: str, explanation: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.explanation = explanation

    @property
    def is_repairable(self) -> bool:
        return self.kind in REPAIRABLE


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: Any = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of one reply, before it is understood. `usage` is None when it was not sent."""

    text: str
    finish_reason: str
    is_refused: bool
    usage: Usage | None


def read_answer(body: str) -> Answer:
    """Raises UnusableReply (`envelope`) for anything but a chat completion."""
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError:
        raise UnusableReply("envelope", "The reply is not a chat completion.") from None
    choice = completion.choices[0]
    return Answer(
        text=choice.message.content or "",
        finish_reason=choice.finish_reason or "",
        is_refused=bool(choice.message.refusal),
        usage=_usage(completion.usage),
    )


def _usage(raw: Any) -> Usage | None:
    if not isinstance(raw, dict):
        return None
    sent, received = raw.get("prompt_tokens"), raw.get("completion_tokens")
    if not _is_count(sent) or not _is_count(received):
        return None
    return Usage(int(sent), int(received), estimated=False)


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and 0 <= value < 2**31


def read_value(answer: Answer, schema: type[Reply]) -> Reply:
    """The first object in the answer that passes `schema`.

    Raises UnusableReply: `truncated`, `refused`, `empty`, `not_json`, `not_object`, `schema`.
    """
    if answer.finish_reason == "length":
        raise UnusableReply("truncated", "The reply was cut off.")
    if answer.is_refused or answer.finish_reason == "content_filter":
        raise UnusableReply("refused", "The model refused.")
    text = _REASONING.sub("", answer.text).strip()
    if not text:
        raise UnusableReply("empty", "The reply was empty.")
    return _first_valid(list(_objects(text)), schema)


def _first_valid(candidates: list[dict[str, Any]], schema: type[Reply]) -> Reply:
    problem: UnusableReply | None = None
    for candidate in candidates:
        try:
            return _validated(candidate, schema)
        except UnusableReply as error:
            problem = problem or error
    raise problem or UnusableReply("not_json", "The reply holds no JSON object.")


def _validated(candidate: dict[str, Any], schema: type[Reply]) -> Reply:
    """Strict in JSON's sense: "7" is no number and "NaN" no float; a date may be a string."""
    try:
        return schema.model_validate_json(json.dumps(candidate), strict=True)
    except ValidationError as error:
        raise UnusableReply("schema", _explained(error)) from None
    except RecursionError:
        raise UnusableReply("schema", "The object is nested too deeply.") from None


def _explained(error: ValidationError) -> str:
    """Places and rules without the values, which may be long or secret."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'.'.join(str(part) for part in problem['loc']) or 'object'}: {problem['msg']}"
        for problem in problems[:MAX_PROBLEMS_SHOWN]
    ]
    return "\n".join(lines)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects in the text: the whole text, else inside fences, else among the prose.

    A list that holds objects raises `not_object`: picking one of its items would be a guess.
    """
    whole = _whole(text)
    if whole is not None:
        yield _object(whole)
        return
    fenced = [_whole(block.strip()) for block in _FENCE.findall(text)]
    if any(isinstance(value, dict | list) for value in fenced):
        yield from (_object(value) for value in fenced if isinstance(value, dict | list))
        return
    yield from _objects_in_prose(text)


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise UnusableReply("not_object", "One JSON object is needed, not a list or a single value.")


def _whole(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _objects_in_prose(text: str) -> Iterator[dict[str, Any]]:
    position = 0
    for _ in range(MAX_CANDIDATES):
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        try:
            value, position = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            position = _after_brackets(text, opening.start())
            continue
        if isinstance(value, dict) or any(isinstance(item, dict) for item in value):
            yield _object(value)


def _after_brackets(text: str, opening: int) -> int:
    """Where the bracket at `opening` is closed, or the end of the text.

    What is inside a broken or cut-off object is skipped: an inner object is not the answer.
    """
    depth = 0
    for bracket in _BRACKET.finditer(text, opening):
        depth += 1 if bracket.group() in "{[" else -1
        if depth == 0:
            return bracket.end()
    return len(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_OPENING = re.compile(r"[{\[]")
_BRACKET = re.compile(r"[{}\[\]]")
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse_constant)
