"""Streamed answers with tool calls from any server that speaks the OpenAI chat protocol.

Retries only happen before the first piece of an answer: what was shown is not taken back. No
error, log line or detail holds a key, a prompt or the service's own words.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeGuard

import httpx2
import openai

from holamem.environment import get_environment
from holamem.errors import ProviderError
from holamem.providers.attempts import (
    CONNECT_SECONDS,
    MAX_ATTEMPTS,
    MAX_PAUSE_SECONDS,
    RequestRefused,
    timed_out,
    translated_errors,
    wait_seconds,
)
from holamem.providers.base import Usage
from holamem.providers.registry import api_key
from holamem.providers.streamed_calls import CallCollector, ToolCallDelta, ToolRequest
from holamem.providers.streamed_text import TextCleaner
from holamem.providers.transport import (
    DEFAULT_BASE_URL,
    LOOK_SECONDS,
    CallBudget,
    Deadline,
    openai_client,
    spending,
)
from holamem.text.tokens import count_tokens

REPLY_BYTES = 64 * 1024 * 1024  # a frame of the protocol takes some 250 bytes for one token
CHARACTERS_PER_TOKEN = 16  # beyond, a service ignores the limit that it was given
MAX_CHARACTERS = 400_000
AFTER_END_SECONDS = 1.0
LENGTH = "length"  # the finish reason of an answer that was cut at a limit


class StreamCancelled(RuntimeError):
    """The stream was given up by whoever reads it."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


StreamItem = TextDelta | ToolCallDelta


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """`deadline_seconds` for everything; `idle_seconds` between two pieces. `messages` and
    `tools` are in the shape of the protocol.
    """

    model: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    max_output_tokens: int = 2_000
    deadline_seconds: float = 600
    idle_seconds: float = 60

    @property
    def max_characters(self) -> int:
        return min(MAX_CHARACTERS, self.max_output_tokens * CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class StreamResult:
    """`finish_reason` as the service gives it, or `length` where one of our limits cut it."""

    text: str
    tool_calls: tuple[ToolRequest, ...]
    usage: Usage
    finish_reason: str
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class _Accepts:
    """What a service turned out to take."""

    usage: bool = True
    limit: str = "max_tokens"

    def weaker(self, service_text: str) -> "_Accepts | None":
        if self.limit == "max_tokens" and "max_completion_tokens" in service_text:
            return replace(self, limit="max_completion_tokens")
        if self.usage and ("stream_options" in service_text or "include_usage" in service_text):
            return replace(self, usage=False)
        return None


_known: dict[tuple[str, str], _Accepts] = {}


@dataclass(slots=True)
class _Collected:
    text: list[str] = field(default_factory=list)
    characters: int = 0
    usage: Usage | None = None
    finish_reason: str = ""
    is_refused: bool = False


class ChatStream:
    """Iterate once, then ask for the result; both raise ProviderError.

    `close`, from any thread, ends the iteration with StreamCancelled within a fraction of a
    second. `text` is what came so far.
    """

    def __init__(
        self,
        request: StreamRequest,
        *,
        client: openai.OpenAI,
        service: tuple[str, str],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._request = request
        self._client = client
        self._service = service
        self._pause = pause
        self._is_closed = False
        self._deadline = Deadline.after(request.deadline_seconds)
        self._budget = CallBudget(self._deadline, REPLY_BYTES)
        self._raw: Any = None
        self._has_ended = False
        self._collected = _Collected()
        self._cleaner = TextCleaner()
        self._calls = CallCollector()

    @property
    def text(self) -> str:
        return "".join(self._collected.text)

    def close(self) -> None:
        self._is_closed = True

    def __iter__(self) -> Iterator[StreamItem]:
        try:
            yield from self._first_items()
            while not self._is_over():
                yield from self._next_items()
            yield from self._add_text(self._cleaner.end())
        finally:
            self._hang_up()
        self._require_end()

    def result(self) -> StreamResult:
        """After the iteration; of a stream that was cut, what came."""
        collected = self._collected
        return StreamResult(
            text=self.text,
            tool_calls=self._calls.calls(),
            usage=collected.usage or self._estimated(),
            finish_reason=collected.finish_reason,
            is_refused=collected.is_refused or collected.finish_reason == "content_filter",
        )

    def _first_items(self) -> list[StreamItem]:
        """The first piece of the answer, asked for again while none has come."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            started = time.monotonic()
            try:
                self._open()
                return self._until_something()
            except ProviderError as error:
                self._hang_up()
                if time.monotonic() - started >= self._request.idle_seconds:
                    raise timed_out() from None  # a second such wait is more than people bear
                wait = wait_seconds(error, attempt)
                affordable = wait < min(MAX_PAUSE_SECONDS, self._deadline.remaining_seconds())
                if not error.retryable or attempt == MAX_ATTEMPTS or not affordable:
                    raise
                self._wait(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _wait(self, seconds: float) -> None:
        """Retry-After may be seconds long, and a cancel does not wait for it."""
        while seconds > 0:
            if self._is_closed:
                raise StreamCancelled
            self._pause(min(LOOK_SECONDS, seconds))
            seconds -= LOOK_SECONDS

    def _until_something(self) -> list[StreamItem]:
        while not self._is_over():
            items = self._next_items()
            if items:
                return items
        self._require_end()
        return []

    def _open(self) -> None:
        accepts = _known.get(self._service, _Accepts())
        self._has_ended = False  # of an earlier attempt
        while True:
            try:
                self._raw = self._create(accepts)
                return
            except RequestRefused as refusal:
                weaker = accepts.weaker(refusal.service_text)
                if weaker is None:
                    raise
                accepts = _known[self._service] = weaker

    def _create(self, accepts: _Accepts) -> Any:
        request: dict[str, Any] = {
            "model": self._request.model,
            "messages": list(self._request.messages),
            "stream": True,
            accepts.limit: self._request.max_output_tokens,
        }
        if accepts.usage:
            request["stream_options"] = {"include_usage": True}
        if self._request.tools:
            request["tools"] = list(self._request.tools)
        left = self._deadline.remaining_seconds()
        if left <= 0:
            raise timed_out()
        timeout = httpx2.Timeout(
            min(left, self._request.idle_seconds), connect=min(CONNECT_SECONDS, left)
        )
        create: Any = self._client.chat.completions.create
        self._budget = CallBudget(self._deadline, REPLY_BYTES, is_cancelled=lambda: self._is_closed)
        return self._guarded(lambda: create(**request, timeout=timeout))

    def _guarded(self, call: Callable[[], Any]) -> Any:
        if self._is_closed:
            raise StreamCancelled
        try:
            with spending(self._budget), translated_errors(self._budget):
                return call()
        except ProviderError:
            if self._is_closed:
                raise StreamCancelled from None
            raise

    def _next_items(self) -> list[StreamItem]:
        chunk = self._next_chunk()
        if chunk is None:
            self._has_ended = True
            return []
        return self._read(chunk)

    def _next_chunk(self) -> Any:
        if not self._collected.finish_reason:
            return self._guarded(lambda: next(self._raw, None))
        # The answer is complete; only the usage may still come, and some services never hang up.
        self._budget.deadline = Deadline.after(
            min(AFTER_END_SECONDS, self._deadline.remaining_seconds())
        )
        try:
            return self._guarded(lambda: next(self._raw, None))
        except ProviderError:
            return None

    def _is_over(self) -> bool:
        """Once a limit was met the rest is not waited for; the usage comes after the end."""
        return self._has_ended or self._is_cut()

    def _is_cut(self) -> bool:
        if self._collected.characters > self._request.max_characters or self._calls.has_too_many:
            self._collected.finish_reason = LENGTH
            return True
        return False

    def _read(self, chunk: Any) -> list[StreamItem]:
        usage = _usage(getattr(chunk, "usage", None))
        self._collected.usage = usage or self._collected.usage
        choices = getattr(chunk, "choices", None)
        if not isinstance(choices, list) or not choices:
            return []
        reason = getattr(choices[0], "finish_reason", None)
        if isinstance(reason, str) and reason:
            self._collected.finish_reason = reason[:40]
        delta = getattr(choices[0], "delta", None)
        return [*self._texts(delta), *self._calls.add(getattr(delta, "tool_calls", None))]

    def _texts(self, delta: Any) -> list[StreamItem]:
        refusal = getattr(delta, "refusal", None)
        if isinstance(refusal, str) and refusal:
            self._collected.is_refused = True
            return self._add_text(self._cleaner.feed(refusal))
        content = getattr(delta, "content", None)
        return self._add_text(self._cleaner.feed(content)) if isinstance(content, str) else []

    def _add_text(self, text: str) -> list[StreamItem]:
        room = self._request.max_characters - self._collected.characters
        shown = text[: max(0, room)]
        self._collected.characters += len(text)
        if not shown:
            return []
        self._collected.text.append(shown)
        return [TextDelta(shown)]

    def _require_end(self) -> None:
        """A service that hangs up gives no reason for the end, whatever it has sent by then."""
        if self._collected.finish_reason:
            return
        raise ProviderError(
            "The model service cut its answer off.", retryable=True, detail={"kind": "cut"}
        )

    def _hang_up(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            try:
                raw.close()
            except (httpx2.HTTPError, OSError, RuntimeError):
                pass  # what is closed is closed

    def _estimated(self) -> Usage:
        prompt = sum(
            count_tokens(str(message.get("content") or "")) for message in self._request.messages
        )
        asked = sum(count_tokens(call.arguments) for call in self._calls.calls())
        return Usage(prompt, count_tokens(self.text) + asked, estimated=True)


def open_stream(
    request: StreamRequest, *, pause: Callable[[float], None] = time.sleep
) -> ChatStream:
    """Nothing is called before the first iteration."""
    base_url = get_environment().openai_base_url
    return ChatStream(
        request,
        client=_client(api_key(), base_url),
        service=(base_url or DEFAULT_BASE_URL, request.model),
        pause=pause,
    )


@cache
def _client(key: str | None, base_url: str | None) -> openai.OpenAI:
    """With its pool of connections: setting one up costs more than a first token may take."""
    return openai_client(key, base_url)


# A forked worker must not share the sockets of its parent.
os.register_at_fork(after_in_child=_client.cache_clear)


def _usage(raw: Any) -> Usage | None:
    sent, received = getattr(raw, "prompt_tokens", None), getattr(raw, "completion_tokens", None)
    if not _is_count(sent) or not _is_count(received):
        return None
    return Usage(sent, received, estimated=False)


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
