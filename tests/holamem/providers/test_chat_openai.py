import json
import logging
import time
import traceback
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from holamem.errors import MalformedReply, ProviderError
from holamem.providers.base import StructuredReply, Usage
from holamem.providers.chat_openai import OpenAIChat
from tests import openai_server as scripted
from tests.openai_server import Behaviour, OpenAIServer

KEY = "sk-very-secret-value"


class Person(BaseModel):
    name: str = Field(max_length=40)
    confidence: float = Field(ge=0, le=1)
    role: Literal["owner", "guest"] = "guest"


ADA = {"name": "Ada 艾达", "confidence": 0.5, "role": "owner"}


@pytest.fixture
def chat(server: OpenAIServer, pauses: list[float]) -> OpenAIChat:
    return OpenAIChat(
        model_name="test-model", api_key=KEY, base_url=server.base_url, pause=pauses.append
    )


def ask(chat: OpenAIChat, deadline_seconds: float = 20) -> StructuredReply[Person]:
    return chat.complete_structured(
        system="Find the person.",
        user="Ada owns it. 艾达拥有它。",
        schema=Person,
        purpose="find person",
        deadline_seconds=deadline_seconds,
    )


def failure_of(chat: OpenAIChat, deadline_seconds: float = 20) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(chat, deadline_seconds)
    return caught.value


def test_an_answer_is_validated_and_its_usage_counted(
    server: OpenAIServer, chat: OpenAIChat
) -> None:
    server.script(scripted.answer(ADA))

    reply = ask(chat)

    assert reply.value == Person(name="Ada 艾达", confidence=0.5, role="owner")
    assert reply.usage == Usage(11, 7, estimated=False)
    assert reply.rung == "json_schema"


def test_the_schema_is_sent_in_strict_form(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.script(scripted.answer(ADA))

    ask(chat)

    sent = server.requests[0].body["response_format"]["json_schema"]
    assert sent["name"] == "find_person"
    assert sent["strict"] is True
    assert sent["schema"]["additionalProperties"] is False
    assert sent["schema"]["required"] == ["name", "confidence", "role"]


def test_a_callback_can_decide_from_the_request(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.respond = lambda request: {
        "name": request["messages"][-1]["content"][:3],
        "confidence": 1,
    }

    assert ask(chat).value.name == "Ada"


@pytest.mark.parametrize(
    "behaviour",
    [
        scripted.fenced(ADA),
        scripted.with_prose(ADA),
        scripted.says(f"<think>maybe {{}} or [1]</think>\n{json.dumps(ADA)}"),
        scripted.says(f"As [1] says {{roughly}}:\n```\n{json.dumps(ADA)}\n```"),
    ],
    ids=["fenced", "prose", "reasoning", "brackets in prose"],
)
def test_json_is_found_in_other_text(
    server: OpenAIServer, chat: OpenAIChat, behaviour: Behaviour
) -> None:
    server.script(behaviour)

    assert ask(chat).value.name == "Ada 艾达"
    assert len(server.requests) == 1


def test_a_service_without_json_schema_is_asked_for_a_json_object_and_remembered(
    server: OpenAIServer, chat: OpenAIChat
) -> None:
    server.script(scripted.without_json_schema(scripted.answer(ADA)))

    first, second = ask(chat), ask(chat)

    assert (first.rung, second.rung) == ("json_object", "json_object")
    assert len(server.requests) == 3
    last = server.requests[-1].body
    assert last["response_format"] == {"type": "json_object"}
    assert '"confidence"' in last["messages"][0]["content"]
    assert "JSON" in last["messages"][0]["content"]


def test_a_service_without_any_response_format_is_asked_in_plain_words(
    server: OpenAIServer, chat: OpenAIChat
) -> None:
    server.script(scripted.without_response_format(scripted.with_prose(ADA)))

    reply = ask(chat)

    assert reply.rung == "plain"
    assert "response_format" not in server.requests[-1].body


def test_two_models_of_one_service_are_remembered_apart(
    server: OpenAIServer, chat: OpenAIChat
) -> None:
    server.script(scripted.without_json_schema(scripted.answer(ADA)))
    ask(chat)
    server.script(scripted.answer(ADA))

    other = OpenAIChat(model_name="other-model", base_url=server.base_url)

    assert ask(other).rung == "json_schema"


def test_refused_bounds_and_temperature_are_left_out(
    server: OpenAIServer, chat: OpenAIChat
) -> None:
    server.script(
        scripted.failure(400, "Unsupported value: 'temperature' does not support 0"),
        scripted.failure(400, "Invalid schema for response_format: 'maxLength' is not permitted."),
        scripted.answer(ADA),
    )

    reply = ask(chat)

    assert reply.rung == "json_schema"
    last = server.requests[-1].body
    assert "temperature" not in last
    assert "maxLength" not in json.dumps(last["response_format"])


def test_an_ignored_json_schema_is_repaired_and_not_tried_again(
    server: OpenAIServer, chat: OpenAIChat
) -> None:
    server.script(scripted.garbage(), scripted.answer(ADA))

    assert ask(chat).value.name == "Ada 艾达"
    assert ask(chat).rung == "json_object"


def test_the_repair_shows_the_problem_the_schema_and_the_broken_reply(
    server: OpenAIServer, chat: OpenAIChat
) -> None:
    server.script(scripted.answer({"name": "Ada", "confidence": 7}), scripted.answer(ADA))

    reply = ask(chat)

    assert reply.usage == Usage(22, 14, estimated=False)
    assert reply.rung == "json_schema"
    broken, repair = server.requests[1].body["messages"][-2:]
    assert broken == {"role": "assistant", "content": '{"name": "Ada", "confidence": 7}'}
    assert "confidence" in repair["content"]
    assert "less than or equal to 1" in repair["content"]
    assert '"maxLength":40' in repair["content"]


@pytest.mark.parametrize(
    ("behaviour", "kind", "calls"),
    [
        (scripted.garbage(), "not_json", 2),
        (scripted.empty(), "empty", 2),
        (scripted.says(" \n "), "empty", 2),
        (scripted.says("<think>only thoughts</think>"), "empty", 2),
        (scripted.says(None), "empty", 2),
        (scripted.answer([ADA]), "not_object", 2),
        (scripted.says(f"Here: [{json.dumps(ADA)}]"), "not_object", 2),
        (scripted.answer({"name": "Ada", "confidence": 7}), "schema", 2),
        (scripted.answer({"name": "Ada", "confidence": "NaN"}), "schema", 2),
        (scripted.answer({"name": "Ada", "confidence": "0.5"}), "schema", 2),
        (scripted.answer({"name": "Ada"}), "schema", 2),
        (scripted.says('{"name": "Ada", "confidence": NaN}'), "not_json", 2),
        (scripted.says('{"name": "Ada", "confidence": 1e999}'), "not_json", 2),
        (scripted.says('{"name": "\\ud800", "confidence": 1}'), "schema", 2),
        (scripted.says(f'{{"broken": {json.dumps(ADA)}, "cut'), "not_json", 2),
        (scripted.says('{"a":' * 5000 + "1" + "}" * 5000), "not_json", 2),
        (scripted.truncated(ADA), "truncated", 1),
        (scripted.refused(), "refused", 1),
        (scripted.filtered(), "refused", 1),
        (scripted.huge(), "too_large", 1),
        (lambda request: scripted.Reply("<html>proxy</html>"), "envelope", 1),
        (lambda request: scripted.Reply('{"choices": []}'), "envelope", 1),
    ],
)
def test_an_unusable_answer_is_a_typed_failure(
    server: OpenAIServer, chat: OpenAIChat, behaviour: Behaviour, kind: str, calls: int
) -> None:
    server.script(behaviour)

    error = failure_of(chat)

    assert isinstance(error, MalformedReply)
    assert error.retryable is False
    assert error.detail["kind"] == kind
    assert len(server.requests) == calls


def test_a_failed_answer_still_tells_its_usage(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.script(scripted.garbage())

    detail = failure_of(chat).detail

    assert (detail["input_tokens"], detail["output_tokens"]) == (22, 14)


def test_missing_usage_is_estimated(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.script(scripted.says(json.dumps(ADA), usage={"prompt_tokens": -1}))

    usage = ask(chat).usage

    assert usage.estimated
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0


def test_a_busy_service_is_asked_again_after_the_time_it_names(
    server: OpenAIServer, chat: OpenAIChat, pauses: list[float]
) -> None:
    server.script(scripted.too_many_requests("3"), scripted.answer(ADA))

    assert ask(chat).value.name == "Ada 艾达"
    assert pauses == [3.0]


def test_a_long_retry_after_is_left_to_the_caller(
    server: OpenAIServer, chat: OpenAIChat, pauses: list[float]
) -> None:
    server.script(scripted.too_many_requests("86400"))

    error = failure_of(chat)

    assert error.retryable
    assert error.retry_after_seconds == 600
    assert pauses == []
    assert len(server.requests) == 1


@pytest.mark.parametrize("value", ["soon", "-1", "9" * 5000, "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_an_odd_retry_after_is_no_crash(server: OpenAIServer, chat: OpenAIChat, value: str) -> None:
    server.script(scripted.too_many_requests(value))

    error = failure_of(chat)

    assert error.detail["status"] == 429


@pytest.mark.parametrize("status", [500, 503, 529])
def test_a_failing_service_is_asked_three_times(
    server: OpenAIServer, chat: OpenAIChat, pauses: list[float], status: int
) -> None:
    server.script(scripted.failure(status))

    error = failure_of(chat)

    assert error.retryable
    assert len(server.requests) == 3
    assert len(pauses) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refused_request_is_not_repeated(
    server: OpenAIServer, chat: OpenAIChat, status: int
) -> None:
    server.script(scripted.failure(status, "no such model"))

    error = failure_of(chat)

    assert not error.retryable
    assert error.detail["status"] == status
    assert len(server.requests) == 1


def test_a_service_that_is_down_is_retryable(pauses: list[float]) -> None:
    with OpenAIServer() as stopped:
        url = stopped.base_url
    chat = OpenAIChat(model_name="test-model", base_url=url, pause=pauses.append)

    error = failure_of(chat)

    assert error.retryable
    assert error.detail == {"kind": "connection"}
    assert len(pauses) == 2


@pytest.mark.parametrize("behaviour", [scripted.hang(), scripted.trickle(ADA)])
def test_the_deadline_covers_the_whole_call(
    server: OpenAIServer, chat: OpenAIChat, behaviour: Behaviour
) -> None:
    server.script(behaviour)

    started = time.monotonic()
    error = failure_of(chat, deadline_seconds=0.4)

    assert time.monotonic() - started < 2
    assert error.retryable
    assert error.detail == {"kind": "timeout"}
    assert len(server.requests) == 1


def test_the_configured_deadline_is_an_upper_limit(server: OpenAIServer) -> None:
    chat = OpenAIChat(model_name="test-model", base_url=server.base_url, max_deadline_seconds=0.3)
    server.script(scripted.hang())

    assert failure_of(chat, deadline_seconds=600).detail == {"kind": "timeout"}


def test_a_compressed_reply_is_refused(server: OpenAIServer, chat: OpenAIChat) -> None:
    server.script(lambda request: scripted.Reply("x", headers={"Content-Encoding": "gzip"}))

    assert failure_of(chat).detail == {"kind": "connection"}
    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_the_key_reaches_neither_errors_nor_tracebacks_nor_logs(
    server: OpenAIServer, chat: OpenAIChat, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script(scripted.echoes_the_key(status))

    error = failure_of(chat)

    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(error.detail)
    assert KEY not in shown + caplog.text
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_key_that_cannot_be_a_header_is_not_quoted(server: OpenAIServer) -> None:
    chat = OpenAIChat(model_name="test-model", api_key=f"{KEY}\nключ", base_url=server.base_url)

    error = failure_of(chat)

    assert KEY not in "".join(traceback.format_exception(error))


def test_a_prompt_with_a_lone_surrogate_is_a_typed_failure(
    server: OpenAIServer, chat: OpenAIChat
) -> None:
    with pytest.raises(ProviderError) as caught:
        chat.complete_structured(system="s", user="\ud800", schema=Person, purpose="p")

    assert caught.value.detail == {"kind": "unsendable"}
