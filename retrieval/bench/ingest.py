"""How fast events are taken, and how soon they are found."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

import httpx2

from holamem.sample.loader import answered, client
from retrieval.bench.measures import Measure, spread
from retrieval.bench.server import Target

SENDERS = 16  # enough that a slow answer does not delay the next request
FOLLOWED = 10  # sent one at a time to a worker that has nothing else to do
IDLE_SECONDS = 300.0
# Longer and longer pauses: impatient askers would be the load that they wait for.
POLL_SECONDS = 0.05
POLL_GROWTH = 1.5
POLL_SECONDS_MAX = 1.0
FIND_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Sent:
    """`acknowledged_ms` counts from when the event was due, so that a stall is not hidden."""

    event_id: str
    acknowledged_ms: float
    acknowledged_at: float


@dataclass(frozen=True, slots=True)
class Found:
    """Milliseconds after the acknowledgement; None when it was not found in time."""

    by_text_ms: float | None
    by_vector_ms: float | None


def measure_ingest(target: Target, *, seconds: float, per_second: float) -> list[Measure]:
    """Events at a steady pace; then single ones that an idle worker makes findable."""
    texts = list(facts(max(1, round(seconds * per_second))))
    with (
        client(url=target.url, api_key=target.api_key) as http,
        ThreadPoolExecutor(SENDERS) as senders,
    ):
        _warm_up(http, target)
        sending = _send_at_pace(http, target, texts, per_second=per_second, senders=senders)
        sent = [future.result() for future in sending]
        drained_ms = _wait_until_idle(http, target, since=sent[-1].acknowledged_at)
        found = [_send_and_follow(http, target, text=text) for text in facts(FOLLOWED)]
    return _measures(sent, found, drained_ms=drained_ms)


def _wait_until_idle(http: httpx2.Client, target: Target, *, since: float) -> float:
    """Milliseconds until all that was sent is processed, sealed and indexed."""
    while time.monotonic() - since < IDLE_SECONDS:
        if answered(http.get(target.path("status")))["idle"]:
            break
        time.sleep(POLL_SECONDS_MAX)
    return (time.monotonic() - since) * 1000


def _send_and_follow(http: httpx2.Client, target: Target, *, text: str) -> Found:
    found = _follow(
        http, target, sent=_send(http, target, text=text, due=time.monotonic()), text=text
    )
    _wait_until_idle(http, target, since=time.monotonic())
    return found


def facts(count: int) -> Iterator[str]:
    """Distinct facts with a word of their own, the same shape as what people say."""
    for number in range(count):
        code = uuid4().hex[:8]
        yield (
            f"Sensor {code} in hall {number % 12 + 1} reports to rack {number % 40 + 1}"
            f" every {number % 50 + 10} seconds."
        )


def _warm_up(http: httpx2.Client, target: Target) -> None:
    """The first request of each kind loads what all later ones share."""
    [text] = facts(1)
    answered(http.post(target.path("events"), params={"wait": "true"}, json=_event(text)))
    answered(http.post(target.path("memory/retrieve"), json={"query": text}))


def _event(text: str) -> dict[str, str]:
    return {"kind": "user_message", "text": text, "admission": "accepted"}


def _send_at_pace(
    http: httpx2.Client,
    target: Target,
    texts: Sequence[str],
    *,
    per_second: float,
    senders: ThreadPoolExecutor,
) -> "list[Future[Sent]]":
    began = time.monotonic()
    due = [began + position / per_second for position in range(len(texts))]
    return [
        senders.submit(_send, http, target, text=text, due=moment)
        for text, moment in zip(texts, due, strict=True)
    ]


def _send(http: httpx2.Client, target: Target, *, text: str, due: float) -> Sent:
    time.sleep(max(0.0, due - time.monotonic()))
    answer = answered(http.post(target.path("events"), json=_event(text)))
    now = time.monotonic()
    return Sent(answer["event_id"], (now - due) * 1000, now)


def _follow(http: httpx2.Client, target: Target, *, sent: Sent, text: str) -> Found:
    """Once it is processed, ask with its own words until an answer rests on it by both means."""
    after: dict[str, float] = {}
    pause, is_processed = POLL_SECONDS, False
    while len(after) < 2 and time.monotonic() - sent.acknowledged_at < FIND_SECONDS:
        is_processed = is_processed or _is_processed(http, target, event_id=sent.event_id)
        if is_processed:
            answer = answered(http.post(target.path("memory/retrieve"), json={"query": text}))
            passed = (time.monotonic() - sent.acknowledged_at) * 1000
            for reason in _reasons(answer, event_id=sent.event_id) & {"lexical", "vector"}:
                after.setdefault(reason, passed)
        time.sleep(pause)
        pause = min(pause * POLL_GROWTH, POLL_SECONDS_MAX)
    return Found(after.get("lexical"), after.get("vector"))


def _is_processed(http: httpx2.Client, target: Target, *, event_id: str) -> bool:
    return bool(answered(http.get(target.path(f"events/{event_id}")))["status"] == "processed")


def _reasons(answer: dict[str, list[dict[str, object]]], *, event_id: str) -> set[str]:
    """By what means the evidence that came from this event was found."""
    found: set[str] = set()
    for item in answer["evidence"]:
        sources, reasons = item["sources"], item["reasons"]
        if isinstance(sources, list) and isinstance(reasons, list):
            ids = {source["event_id"] for source in sources}
            found |= set(reasons) if event_id in ids else set()
    return found


def _measures(sent: Sequence[Sent], found: Sequence[Found], *, drained_ms: float) -> list[Measure]:
    by_text = [item.by_text_ms for item in found if item.by_text_ms is not None]
    by_vector = [item.by_vector_ms for item in found if item.by_vector_ms is not None]
    return [
        Measure("events", len(sent), "events"),
        *spread("acknowledge", [item.acknowledged_ms for item in sent]),
        Measure("drained_after", round(drained_ms), "ms"),
        Measure("followed", len(found), "events"),
        *spread("findable_by_text", by_text),
        *spread("findable_by_vector", by_vector),
        Measure("not_found", len(found) * 2 - len(by_text) - len(by_vector), "look-ups"),
    ]
