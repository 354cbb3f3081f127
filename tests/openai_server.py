"""A scripted OpenAI-compatible server on a loopback socket, for tests of behaviour.

with OpenAIServer() as server:
    server.script(failure(500), answer({"name": "Ada"}))   # in this order; the last one repeats
    server.respond = lambda request: {"name": "Ada"}       # or decide from the request
    OpenAIChat(model_name="test", base_url=server.base_url)
    server.requests[0].body["messages"]
"""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any

DIMENSION = 8
TRICKLE_SECONDS = 0.02  # between two bytes

JSON = dict[str, Any]
Respond = Callable[[JSON], "JSON | str"]


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: dict[str, str]
    body: JSON


@dataclass(frozen=True, slots=True)
class Reply:
    """`pace`: `at_once`, `trickle` (byte by byte) or `hang` (nothing until the server stops).

    `frames` are sent one by one in place of the body, without a length, and then the server hangs
    up: a text is sent, a number is a pause in seconds, an event is waited for.
    """

    body: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pace: str = "at_once"
    frames: tuple[str | float | Event, ...] | None = None


Behaviour = Callable[[Request], Reply]


def completion(
    content: str | None,
    *,
    finish_reason: str = "stop",
    refusal: str | None = None,
    usage: JSON | None = None,
) -> Reply:
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body: JSON = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    if usage is None:
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    if usage:
        body["usage"] = usage
    return Reply(json.dumps(body))


def error(status: int, message: str, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"error": {"message": message, "type": "error", "param": None, "code": None}}
    return Reply(json.dumps(body), status, named)


def answer(value: Any) -> Behaviour:
    return says(json.dumps(value, ensure_ascii=False))


def says(content: str | None, **options: Any) -> Behaviour:
    return lambda request: completion(content, **options)


def garbage() -> Behaviour:
    return says("I would rather talk about the weather.")


def fenced(value: Any) -> Behaviour:
    return says(f"```json\n{json.dumps(value)}\n```")


def with_prose(value: Any) -> Behaviour:
    return says(f"Sure! Here it is:\n{json.dumps(value)}\nAnything else?")


def truncated(value: Any) -> Behaviour:
    return says(json.dumps(value)[:-3], finish_reason="length")


def refused() -> Behaviour:
    return says(None, refusal="I cannot help with that.")


def filtered() -> Behaviour:
    return says("", finish_reason="content_filter")


def empty() -> Behaviour:
    return says("")


def without_json_schema(then: Behaviour) -> Behaviour:
    """As some hosted services do: 400 for response_format json_schema."""
    return _refusing({"json_schema"}, then)


def without_response_format(then: Behaviour) -> Behaviour:
    return _refusing({"json_schema", "json_object"}, then)


def _refusing(kinds: set[str], then: Behaviour) -> Behaviour:
    def behave(request: Request) -> Reply:
        if request.body.get("response_format", {}).get("type") in kinds:
            return error(400, "This response_format type is unavailable now")
        return then(request)

    return behave


def too_many_requests(retry_after: str) -> Behaviour:
    return lambda request: error(429, "Too many requests", Retry_After=retry_after)


def failure(status: int = 500, message: str = "The server had an error") -> Behaviour:
    return lambda request: error(status, message)


def hang() -> Behaviour:
    return lambda request: Reply("", pace="hang")


def trickle(value: Any) -> Behaviour:
    return lambda request: Reply(completion(json.dumps(value)).body, pace="trickle")


def huge(size: int = 5_000_000) -> Behaviour:
    return says("x" * size)


def echoes_the_key(status: int = 401) -> Behaviour:
    return lambda request: error(status, f"Bad key {request.headers['authorization']}")


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    """A deterministic vector of no meaning, not of unit length."""
    digest = hashlib.sha256(text.encode()).digest()
    return [digest[position % len(digest)] - 127.5 for position in range(dimension)]


def embeddings(
    *,
    dimension: int = DIMENSION,
    change: Callable[[list[JSON]], list[JSON]] = lambda rows: rows,
) -> Behaviour:
    """`change` gets the rows `{"index", "embedding", "object"}` before they are sent."""

    def behave(request: Request) -> Reply:
        texts = request.body["input"]
        rows = [
            {"object": "embedding", "index": index, "embedding": vector_of(text, dimension)}
            for index, text in enumerate(texts)
        ]
        return Reply(json.dumps({"object": "list", "model": "scripted", "data": change(rows)}))

    return behave


def wrong_dimension() -> Behaviour:
    return embeddings(dimension=DIMENSION + 1)


def not_a_number() -> Behaviour:
    return embeddings(
        change=lambda rows: [{**rows[0], "embedding": [math.nan] * DIMENSION}, *rows[1:]]
    )


def zero() -> Behaviour:
    return embeddings(change=lambda rows: [{**row, "embedding": [0] * DIMENSION} for row in rows])


def shuffled() -> Behaviour:
    return embeddings(change=lambda rows: rows[::-1])


def short() -> Behaviour:
    return embeddings(change=lambda rows: rows[:-1])


def refusing_text(bad: str) -> Behaviour:
    """400 for every batch that holds the text `bad`."""
    work = embeddings()

    def behave(request: Request) -> Reply:
        if bad in request.body["input"]:
            return error(400, "The input is not valid")
        return work(request)

    return behave


class OpenAIServer:
    """Serves /v1/chat/completions and /v1/embeddings; records every request."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.respond: Respond | None = None
        self.embeddings: Behaviour = embeddings()
        self._script: list[Behaviour] = []
        self._lock = Lock()
        self._stopped = Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def script(self, *behaviours: Behaviour) -> None:
        """Chat replies in this order; the last one repeats."""
        self._script = list(behaviours)

    def user_texts(self) -> list[str]:
        """The last message of every chat request."""
        return [request.body["messages"][-1]["content"] for request in self.chats()]

    def chats(self) -> Sequence[Request]:
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    def reply_to(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            if request.path.endswith("/embeddings"):
                behaviour = self.embeddings
            else:
                behaviour = self._next_chat()
        return behaviour(request)

    def _next_chat(self) -> Behaviour:
        if self.respond is not None:
            return _responding(self.respond)
        if not self._script:
            return failure(500, "nothing is scripted")
        return self._script.pop(0) if len(self._script) > 1 else self._script[0]

    def wait_for(self, event: Event) -> None:
        """Until the event is set or the server stops."""
        while not event.wait(0.02) and not self._stopped.is_set():
            pass

    def wait_stopped(self, seconds: float | None = None) -> bool:
        return self._stopped.wait(seconds)

    def __enter__(self) -> "OpenAIServer":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)


def _responding(respond: Respond) -> Behaviour:
    def behave(request: Request) -> Reply:
        value = respond(request.body)
        return completion(value if isinstance(value, str) else json.dumps(value))

    return behave


def _handler(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body are two writes; without this the second waits for a delayed ACK.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(self.rfile.read(size))
            try:
                self._send(server.reply_to(Request(self.path, headers, body)))
            except OSError:
                self.close_connection = True  # the client gave up, which is what some tests want

        def _send(self, reply: Reply) -> None:
            if reply.pace == "hang":
                server.wait_stopped()
                self.close_connection = True
                return
            if reply.frames is not None:
                _send_frames(self, reply, reply.frames, server)
                return
            data = reply.body.encode()
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if reply.pace == "at_once":
                self.wfile.write(data)
                return
            _trickle(self, data, server)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the test output is for failures."""

    return Handler


def _trickle(handler: BaseHTTPRequestHandler, data: bytes, server: OpenAIServer) -> None:
    for byte in data:
        handler.wfile.write(bytes([byte]))
        if server.wait_stopped(TRICKLE_SECONDS):
            return


def _send_frames(
    handler: BaseHTTPRequestHandler,
    reply: Reply,
    frames: tuple[str | float | Event, ...],
    server: OpenAIServer,
) -> None:
    handler.close_connection = True
    handler.send_response(reply.status)
    for name, value in {"Content-Type": "text/event-stream", **reply.headers}.items():
        handler.send_header(name, value)
    handler.send_header("Connection", "close")
    handler.end_headers()
    for frame in frames:
        if isinstance(frame, str):
            handler.wfile.write(frame.encode())
            handler.wfile.flush()
        elif isinstance(frame, Event):
            server.wait_for(frame)
        elif server.wait_stopped(frame):
            return
