"""Streams over real HTTP: what is shown, what is put together, and how each of them ends."""

import time
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from holamem.environment import get_environment
from holamem.errors import MalformedReply, ProviderError
from holamem.providers.streaming import (
    ChatStream,
    StreamCancelled,
    StreamItem,
    StreamRequest,
    TextDelta,
    open_stream,
)
from tests.openai_server import (
    OpenAIServer,
    Reply,
    echoes_the_key,
    error,
    failure,
    hang,
    too_many_requests,
)
from tests.streamed import DONE, call_piece, calls, ending, frame, says, streams, words

KEY = "sk-local-0123456789abcdef"
PROMPT = "The prompt must not get out."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        get_environment.cache_clear()
        yield running
    get_environment.cache_clear()


def asking(**options: object) -> ChatStream:
    messages = [{"role": "user", "content": PROMPT}]
    request = StreamRequest("scripted", messages, **options)  # type: ignore[arg-type]
    return open_stream(request, pause=lambda seconds: None)


def shown(items: list[StreamItem]) -> str:
    return "".join(item.text for item in items if isinstance(item, TextDelta))


def test_text_comes_in_pieces_and_the_result_has_all_of_it(server: OpenAIServer) -> None:
    server.script(says("The ", "office ", "is in 北京.", ""))
    stream = asking()

    items = list(stream)

    assert [item.text for item in items if isinstance(item, TextDelta)] == [
        "The ",
        "office ",
        "is in 北京.",
    ]
    result = stream.result()
    assert (result.text, result.finish_reason) == ("The office is in 北京.", "stop")
    assert (result.usage.input_tokens, result.usage.output_tokens) == (11, 7)
    assert not result.usage.estimated


def test_the_usage_is_estimated_where_none_is_sent(server: OpenAIServer) -> None:
    server.script(says("Four words of text.", usage=None))
    stream = asking()
    assert shown(list(stream)) == "Four words of text."
    usage = stream.result().usage
    assert usage.estimated
    assert usage.input_tokens > 3
    assert usage.output_tokens > 2


def test_calls_are_put_together_from_their_pieces(server: OpenAIServer) -> None:
    server.script(calls(("ping", {}), ("memory_search", {"query": "办公室"}), text="One moment."))
    stream = asking()
    list(stream)
    result = stream.result()
    assert [(call.name, call.arguments) for call in result.tool_calls] == [
        ("ping", "{}"),
        ("memory_search", '{"query": "办公室"}'),
    ]
    assert result.text == "One moment."


def test_calls_without_index_and_with_the_same_id_are_told_apart(server: OpenAIServer) -> None:
    pieces = [
        call_piece(None, id="a", name="ping", arguments="{"),
        call_piece(None, arguments="}"),
        call_piece(None, id="b", name="ping", arguments="{}"),
        call_piece(5, id="a", name="ping", arguments="{}"),
        call_piece(6, name="ping", arguments="{}"),
    ]
    server.script(streams(*pieces, *ending("tool_calls")))
    stream = asking()
    list(stream)
    asked = stream.result().tool_calls
    assert [call.arguments for call in asked] == ["{}"] * 4
    assert len({call.id for call in asked}) == 4


def test_a_busy_service_is_asked_again_before_the_first_piece(server: OpenAIServer) -> None:
    server.script(too_many_requests("1"), failure(503), says("Here."))
    stream = asking()
    assert shown(list(stream)) == "Here."
    assert len(server.chats()) == 3


def test_nothing_is_asked_again_after_the_first_piece(server: OpenAIServer) -> None:
    server.script(streams(*words("Half an ")), says("answer"))
    stream = asking()
    with pytest.raises(ProviderError) as caught:
        list(stream)
    assert caught.value.detail["kind"] == "cut"
    assert stream.text == "Half an "
    assert len(server.chats()) == 1


def test_a_long_pause_that_the_service_asks_for_is_its_error(server: OpenAIServer) -> None:
    server.script(too_many_requests("300"))
    with pytest.raises(ProviderError) as caught:
        list(asking())
    assert caught.value.retry_after_seconds == 300
    assert len(server.chats()) == 1


def test_garbage_is_a_typed_error(server: OpenAIServer) -> None:
    server.script(streams("data: {not json\n\n"))
    with pytest.raises(MalformedReply) as caught:
        list(asking())
    assert caught.value.detail["kind"] == "unreadable"


@pytest.mark.parametrize("frames", [["<html>It works</html>"], [DONE], []])
def test_a_service_that_hangs_up_before_its_answer_is_asked_again(
    server: OpenAIServer, frames: list[str]
) -> None:
    server.script(streams(*frames), says("Here."))
    assert shown(list(asking())) == "Here."
    server.script(streams(*frames))
    with pytest.raises(ProviderError) as caught:
        list(asking())
    assert caught.value.detail["kind"] == "cut"


def test_frames_of_the_wrong_shape_are_passed_over(server: OpenAIServer) -> None:
    odd = [
        'data: {"choices": null}\n\n',
        'data: {"choices": [{"delta": null}]}\n\n',
        'data: {"choices": [{"delta": {"content": 7, "tool_calls": "x"}}]}\n\n',
        'data: {"choices": [{"delta": {"tool_calls": [null]}}], "usage": {"prompt_tokens": -1}}\n\n',
    ]
    server.script(streams(*odd, *words("Fine."), *ending()))
    stream = asking()
    assert shown(list(stream)) == "Fine."
    assert stream.result().usage.input_tokens == 11


def test_a_hanging_service_ends_by_the_idle_limit(server: OpenAIServer) -> None:
    server.script(hang())
    started = time.monotonic()
    with pytest.raises(ProviderError) as caught:
        list(asking(idle_seconds=0.3))
    assert caught.value.detail["kind"] == "timeout"
    assert len(server.chats()) == 1
    assert time.monotonic() - started < 3


def test_a_trickle_ends_by_the_deadline(server: OpenAIServer) -> None:
    pieces = [piece for _ in range(100) for piece in (*words("x"), 0.05)]
    server.script(streams(*pieces))
    started = time.monotonic()
    with pytest.raises(ProviderError) as caught:
        list(asking(deadline_seconds=0.4))
    assert caught.value.detail["kind"] == "timeout"
    assert time.monotonic() - started < 2


def test_a_stream_is_closed_within_a_moment_while_nothing_arrives(server: OpenAIServer) -> None:
    never = Event()
    server.script(streams(*words("Hm"), never))
    stream = asking()
    seen: list[str] = []

    def read() -> None:
        try:
            seen.extend(item.text for item in stream if isinstance(item, TextDelta))
        except StreamCancelled:
            seen.append("closed")

    reader = Thread(target=read)
    reader.start()
    while stream.text != "Hm":
        time.sleep(0.005)
    started = time.monotonic()
    stream.close()
    reader.join(5)
    assert seen == ["closed"] or seen == ["Hm", "closed"]
    assert time.monotonic() - started < 1


def test_five_megabytes_are_cut_at_the_limit(server: OpenAIServer) -> None:
    server.script(streams(*words(*["x" * 50_000] * 100), *ending()))
    stream = asking(max_output_tokens=1_000)
    assert len(shown(list(stream))) == 16_000
    assert stream.result().finish_reason == "length"


def test_endless_calls_are_cut(server: OpenAIServer) -> None:
    pieces = [
        call_piece(number, id=f"c{number}", name="ping", arguments="{}") for number in range(1_000)
    ]
    server.script(streams(*pieces, *ending("tool_calls")))
    stream = asking()
    list(stream)
    assert stream.result().finish_reason == "length"
    assert len(stream.result().tool_calls) == 64


def test_thinking_aloud_is_not_shown(server: OpenAIServer) -> None:
    server.script(says("<th", "ink>Is it <b>", "so?</thi", "nk>\n\n", "It <b>is</b>."))
    stream = asking()
    assert shown(list(stream)) == "It <b>is</b>."


def test_a_character_in_two_halves_is_one_and_half_a_character_is_none(
    server: OpenAIServer,
) -> None:
    halves = [
        'data: {"choices": [{"delta": {"content": "a\\ud83d"}}]}\n\n',
        'data: {"choices": [{"delta": {"content": "\\ude00b\\u0000\\ud83d"}}]}\n\n',
    ]
    server.script(streams(*halves, *ending()))
    assert shown(list(asking())) == "a😀b"


def test_a_refusal_is_known_as_one(server: OpenAIServer) -> None:
    server.script(streams(frame({"refusal": "I cannot help."}), *ending()))
    stream = asking()
    assert shown(list(stream)) == "I cannot help."
    assert stream.result().is_refused


def test_a_service_that_never_hangs_up_is_not_waited_for(server: OpenAIServer) -> None:
    never = Event()
    server.script(streams(*words("Done."), frame({}, finish="stop"), never))
    started = time.monotonic()
    assert shown(list(asking(idle_seconds=30))) == "Done."
    assert time.monotonic() - started < 4


def test_what_a_service_does_not_know_is_left_out(server: OpenAIServer) -> None:
    def behave(request: object) -> Reply:
        body = request.body  # type: ignore[attr-defined]
        if "stream_options" in body:
            return error(400, "Unknown parameter: stream_options")
        if "max_tokens" in body:
            return error(400, "Use 'max_completion_tokens' instead.")
        return says("Fine.")(request)  # type: ignore[arg-type]

    server.script(behave)
    stream = open_stream(StreamRequest("picky", [{"role": "user", "content": "x"}]))
    assert shown(list(stream)) == "Fine."


def test_no_error_holds_the_key_or_the_prompt(server: OpenAIServer) -> None:
    server.script(echoes_the_key(), echoes_the_key(400))
    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            list(asking())
        told = f"{caught.value} {caught.value.detail} {caught.value.__cause__}"
        assert KEY not in told
        assert PROMPT not in told
