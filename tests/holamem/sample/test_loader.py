"""The loader against a small server that keeps what it is sent."""

import json
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from holamem.sample import loader
from holamem.sample.conversations import last_moment, turns
from holamem.sample.loader import SampleFailed, load_sample
from holamem.sample.showcase import show_questions

ANSWER = {
    "retrieval_pack": {"known_facts": [{"text": "The port is 8443.", "evidence_ids": ["e1"]}]},
    "evidence": [{"evidence_id": "e1", "excerpt": "It listens on port 8443."}],
    "gaps": [{"kind": "missing", "reason": "Nothing is known about it."}],
    "coverage": {"level": "high", "score": 0.91},
}


class MemoryServer(ThreadingHTTPServer):
    """`batches` are the bodies in order; the status is idle once it was asked twice."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.batches: list[list[dict[str, Any]]] = []
        self.asked: list[dict[str, Any]] = []
        self.ids: dict[str, str] = {}
        self.status_calls = 0
        self.refuses = False

    def accept(self, events: list[dict[str, Any]]) -> list[dict[str, str]]:
        self.batches.append(events)
        for event in events:
            self.ids.setdefault(event["external_id"], f"event-{len(self.ids)}")
        return [
            {"event_id": self.ids[event["external_id"]], "status": "received"} for event in events
        ]


class Handler(BaseHTTPRequestHandler):
    server: MemoryServer

    def do_GET(self) -> None:
        self.server.status_calls += 1
        idle = self.server.status_calls > 1
        self._answer({"idle": idle, "leaves": 70, "summaries": 9, "trees": 12})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.refuses or self.headers["Authorization"] != "Bearer hm_key":
            self._answer({"title": "Refused"}, status=403)
        elif self.path == "/api/v1/workspaces/demo/events:batch":
            self._answer({"events": self.server.accept(body["events"])}, status=202)
        else:
            self.server.asked.append(body)
            self._answer(ANSWER)

    def _answer(self, document: dict[str, Any], *, status: int = 200) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryServer]:
    monkeypatch.setattr(loader, "POLL_SECONDS", 0)
    running = MemoryServer()
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()


def url(server: MemoryServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def load(server: MemoryServer, *, key: str = "hm_key") -> loader.LoadReport:
    return load_sample(url=url(server), api_key=key, workspace="demo", languages=["en", "zh"])


def test_everything_is_sent_in_order_and_then_awaited(server: MemoryServer) -> None:
    report = load(server)
    sent = [event["external_id"] for batch in server.batches for event in batch]
    assert sent == [turn.external_id for lang in ("en", "zh") for turn in turns(lang)]
    assert (report.events, report.leaves, report.trees) == (len(sent), 70, 12)
    assert server.status_calls == 2


def test_references_are_sent_as_the_ids_that_the_server_gave(server: MemoryServer) -> None:
    load(server)
    by_id = {event_id: external_id for external_id, event_id in server.ids.items()}
    sent = {event["external_id"]: event for batch in server.batches for event in batch}
    referring = [turn for lang in ("en", "zh") for turn in turns(lang) if turn.evidence]
    assert referring
    for turn in referring:
        named = sent[turn.external_id]["evidence_event_ids"]
        assert tuple(by_id[event_id] for event_id in named) == turn.evidence


def test_a_second_load_sends_the_same_ids(server: MemoryServer) -> None:
    load(server)
    known = dict(server.ids)
    load(server)
    assert server.ids == known


def test_a_refusal_is_reported_with_its_status(server: MemoryServer) -> None:
    with pytest.raises(SampleFailed, match="403"):
        load(server, key="hm_other")


def test_an_endless_backlog_is_given_up(
    server: MemoryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "IDLE_TIMEOUT_SECONDS", -1)
    with pytest.raises(SampleFailed, match="in time"):
        load(server)


def test_the_shown_answers_name_facts_evidence_gaps_and_coverage(server: MemoryServer) -> None:
    text = show_questions(url=url(server), api_key="hm_key", workspace="demo", languages=["zh"])
    assert text.count("? ") == 3
    assert "The port is 8443.  [e1]" in text
    assert "[e1] It listens on port 8443." in text
    assert "gap (missing): Nothing is known about it." in text
    assert "coverage: high (0.91)" in text


def test_the_sample_is_asked_soon_after_its_last_turn(server: MemoryServer) -> None:
    show_questions(url=url(server), api_key="hm_key", workspace="demo", languages=["en", "zh"])
    moments = [datetime.fromisoformat(body["now"]) for body in server.asked]
    ends = [last_moment("en")] * 3 + [last_moment("zh")] * 3
    for moment, end in zip(moments, ends, strict=True):
        assert timedelta() < moment - end < timedelta(days=1)
