"""Structured answers from any server that speaks the OpenAI chat completions protocol."""

import json
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
from pydantic import BaseModel

from holamem.errors import MalformedReply
from holamem.providers.attempts import RequestRefused, call_with_retries
from holamem.providers.base import Reply, StructuredReply, Usage
from holamem.providers.capabilities import (
    Capabilities,
    Service,
    concerns_one_schema,
    recall,
    remember,
)
from holamem.providers.replies import Answer, UnusableReply, read_answer, read_value
from holamem.providers.schemas import is_closed, strict_schema
from holamem.providers.transport import DEFAULT_BASE_URL, Deadline, openai_client
from holamem.text.tokens import count_tokens

MAX_REPLY_BYTES = 256 * 1024
MAX_BROKEN_REPLY_CHARACTERS = 4_000  # of the unusable reply that the repair shows back

_JSON_ONLY = (
    "Answer with one JSON object and no other text. The JSON object must match this JSON schema:\n"
)
_REPAIR = (
    "That reply could not be used:\n{problem}\n\nAnswer again, with one corrected JSON object and "
    "no other text. It must match this JSON schema:\n{schema}"
)
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")

logger = logging.getLogger(__name__)

Messages = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class _Question:
    """One structured question; `deadline` covers all of its calls."""

    messages: Messages
    schema: type[BaseModel]
    purpose: str
    deadline: Deadline


@dataclass(frozen=True, slots=True)
class _Heard:
    answer: Answer
    usage: Usage
    capabilities: Capabilities


class OpenAIChat:
    """`pause` waits between retries, in seconds; tests pass one that does not wait."""

    def __init__(
        self,
        *,
        model_name: str,
        api_key: str | None = None,
        base_url: str | None = None,
        max_deadline_seconds: float = 600,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model_name = model_name
        self._max_deadline_seconds = max_deadline_seconds
        self._pause = pause
        self._service: Service = (base_url or DEFAULT_BASE_URL, model_name)
        self._client = openai_client(api_key, base_url)

    def complete_structured(
        self,
        *,
        system: str,
        user: str,
        schema: type[Reply],
        purpose: str,
        deadline_seconds: float = 60,
    ) -> StructuredReply[Reply]:
        deadline = Deadline.after(min(deadline_seconds, self._max_deadline_seconds))
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": user},
        ]
        question = _Question(messages, schema, purpose, deadline)
        heard = self._ask(question)
        try:
            value = read_value(heard.answer, schema)
        except UnusableReply as problem:
            if not problem.is_repairable:
                raise _malformed(problem.kind, heard.usage) from None
            return self._repaired(question, heard, problem, schema)
        return self._reply(value, heard.usage, heard.capabilities, purpose)

    def _repaired(
        self, question: _Question, first: _Heard, problem: UnusableReply, schema: type[Reply]
    ) -> StructuredReply[Reply]:
        """Ask once more, with the problem and the schema shown."""
        messages = _repair_messages(question, first.answer.text, problem)
        second = self._ask(_Question(messages, schema, question.purpose, question.deadline))
        usage = first.usage + second.usage
        try:
            value = read_value(second.answer, schema)
        except UnusableReply as second_problem:
            raise _malformed(second_problem.kind, usage) from None
        if problem.kind == "not_json" and first.capabilities.rung == "json_schema":
            # Some servers accept json_schema and ignore it; then the prompt must carry the schema.
            remember(self._service, first.capabilities.next_rung())
        return self._reply(value, usage, second.capabilities, question.purpose)

    def _reply(
        self, value: Reply, usage: Usage, capabilities: Capabilities, purpose: str
    ) -> StructuredReply[Reply]:
        logger.info(
            "structured answer",
            extra={
                "model": self.model_name,
                "purpose": purpose,
                "rung": capabilities.rung,
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
            },
        )
        return StructuredReply(value, usage, capabilities.rung)

    def _ask(self, question: _Question) -> _Heard:
        """One answer, asked for in the strongest way that the service accepts."""
        capabilities = recall(self._service)
        while True:
            try:
                return self._ask_with(capabilities, question)
            except RequestRefused as refusal:
                weaker = capabilities.weaker(refusal.service_text)
                if weaker is None:
                    raise
                if not concerns_one_schema(refusal.service_text):
                    remember(self._service, weaker)
                capabilities = weaker

    def _ask_with(self, capabilities: Capabilities, question: _Question) -> _Heard:
        request = _request(self.model_name, capabilities, question)
        body = self._send(request, question.deadline)
        try:
            answer = read_answer(body)
        except UnusableReply as problem:
            raise _malformed(problem.kind, _estimated(request, "")) from None
        usage = answer.usage or _estimated(request, answer.text)
        return _Heard(answer, usage, capabilities)

    def _send(self, request: dict[str, Any], deadline: Deadline) -> str:
        # The raw body is checked here: the client builds its objects without validating them.
        create: Any = self._client.chat.completions.with_raw_response.create

        def call(timeout: httpx2.Timeout) -> str:
            return str(create(**request, timeout=timeout).text)

        return call_with_retries(
            call, deadline=deadline, reply_bytes=MAX_REPLY_BYTES, pause=self._pause
        )


def _request(model_name: str, capabilities: Capabilities, question: _Question) -> dict[str, Any]:
    request: dict[str, Any] = {"model": model_name, "messages": question.messages}
    if capabilities.temperature:
        request["temperature"] = 0
    if capabilities.rung == "json_schema":
        schema = strict_schema(question.schema, bounds=capabilities.bounds)
        request["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": _schema_name(question.purpose),
                "schema": schema,
                "strict": is_closed(schema),
            },
        }
        return request
    request["messages"] = _with_schema(question)
    if capabilities.rung == "json_object":
        request["response_format"] = {"type": "json_object"}
    return request


def _with_schema(question: _Question) -> Messages:
    system, *rest = question.messages
    content = f"{system['content']}\n\n{_JSON_ONLY}{_schema_text(question.schema)}"
    return [{**system, "content": content}, *rest]


def _repair_messages(question: _Question, broken: str, problem: UnusableReply) -> Messages:
    shown = broken.strip()[:MAX_BROKEN_REPLY_CHARACTERS]
    # Some servers refuse an empty assistant message.
    said = [{"role": "assistant", "content": shown}] if shown else []
    repair = _REPAIR.format(problem=problem.explanation, schema=_schema_text(question.schema))
    return [*question.messages, *said, {"role": "user", "content": repair}]


def _schema_text(schema: type[BaseModel]) -> str:
    return json.dumps(strict_schema(schema), ensure_ascii=False, separators=(",", ":"))


def _schema_name(purpose: str) -> str:
    """At most 64 characters of a-z, A-Z, 0-9, _ and -, as the protocol asks."""
    return _NOT_IN_A_NAME.sub("_", purpose)[:64] or "answer"


def _malformed(kind: str, usage: Usage) -> MalformedReply:
    return MalformedReply(
        f"The model answered, but the answer could not be used ({kind}).",
        detail={
            "kind": kind,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "estimated": usage.estimated,
        },
    )


def _estimated(request: dict[str, Any], reply: str) -> Usage:
    prompt = "".join(message["content"] for message in request["messages"])
    return Usage(count_tokens(prompt), count_tokens(reply), estimated=True)
