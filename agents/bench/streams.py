"""Many clients that follow sessions at once: how soon each hears of an event, and what they cost."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from retrieval.bench.measures import Measure, spread
from retrieval.bench.server import Target

SESSIONS = 10
WARM_UP_MESSAGES = 20
DELIVERY_MS = 250.0
ADDED_MB = 60.0
REPLAY_SECONDS = 2.0
WRITERS = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """`per_second` messages for `seconds`, and one session with `replayed` events."""

    streams: int = 200
    seconds: float = 20
    per_second: float = 10
    replayed: int = 10_000


@dataclass(frozen=True, slots=True)
class _Place:
    target: Target
    client: httpx2.Client

    def new_session(self) -> str:
        answer = self.client.post(self.target.path("sessions"), json={})
        return str(answer.raise_for_status().json()["session_id"])

    def say(self, session_id: str, text: str) -> None:
        body = {"role": "user", "content": text}
        path = self.target.path(f"sessions/{session_id}/messages")
        answer = self.client.post(path, json=body)
        while answer.status_code == 429:
            time.sleep(float(answer.headers["retry-after"]))
            answer = self.client.post(path, json=body)
        answer.raise_for_status()


def measure_streams(target: Target, *, plan: Plan) -> list[Measure]:
    """Latencies by the clock of this machine, which the server must share."""
    headers = {"Authorization": f"Bearer {target.api_key}"}
    with httpx2.Client(base_url=target.url, headers=headers, timeout=60) as client:
        place = _Place(target, client)
        sessions = [place.new_session() for _ in range(SESSIONS)]
        # First: what thousands of requests leave free in the process would hide what streams take.
        live = asyncio.run(_live(place, sessions=sessions, plan=plan))
        long_session = _filled(place, events=plan.replayed)
        replay = asyncio.run(_replay(place, session_id=long_session, events=plan.replayed))
    return [*live, *replay]


def _filled(place: _Place, *, events: int) -> str:
    session_id = place.new_session()
    with ThreadPoolExecutor(WRITERS) as pool:
        for written in [pool.submit(place.say, session_id, f"Event {n}.") for n in range(events)]:
            written.result()
    return session_id


async def _live(place: _Place, *, sessions: Sequence[str], plan: Plan) -> list[Measure]:
    latencies: list[float] = []
    async with _followers(place, sessions=sessions[:1], latencies=[]):
        for number in range(WARM_UP_MESSAGES):
            await asyncio.to_thread(place.say, sessions[0], f"Warm up {number}.")
    before = resident_mb(place.target)
    wanted = [sessions[number % len(sessions)] for number in range(plan.streams)]
    async with _followers(place, sessions=wanted, latencies=latencies):
        await _speak(place, sessions=sessions, plan=plan)
        added = resident_mb(place.target) - before
    expected = int(plan.seconds * plan.per_second) * plan.streams // len(sessions)
    return [
        *_limited(spread("delivery", latencies)),
        Measure("deliveries_lost", expected - len(latencies), "events", at_most=0),
        Measure("streams_added", round(added, 1), "MB", at_most=ADDED_MB),
    ]


def _limited(measures: Sequence[Measure]) -> list[Measure]:
    return [
        Measure(one.name, one.value, one.unit, at_most=DELIVERY_MS if "p95" in one.name else None)
        for one in measures
    ]


async def _speak(place: _Place, *, sessions: Sequence[str], plan: Plan) -> None:
    began = time.monotonic()
    for number in range(int(plan.seconds * plan.per_second)):
        await asyncio.sleep(max(0.0, began + number / plan.per_second - time.monotonic()))
        session_id = sessions[number % len(sessions)]
        await asyncio.to_thread(place.say, session_id, f"What is said, number {number}.")
    await asyncio.sleep(1)


@asynccontextmanager
async def _followers(
    place: _Place, *, sessions: Sequence[str], latencies: list[float]
) -> AsyncIterator[None]:
    """One stream for each of the sessions, from their present ends on."""
    opened = [await _opened(place, session_id=session_id) for session_id in sessions]
    tasks = [asyncio.create_task(_listen(reader, latencies)) for reader, _ in opened]
    try:
        await asyncio.sleep(1)
        yield
    finally:
        for task in tasks:
            task.cancel()
        for _, writer in opened:
            writer.close()


async def _opened(
    place: _Place, *, session_id: str, after: int | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    path = place.target.path(f"sessions/{session_id}")
    if after is None:
        found = await asyncio.to_thread(place.client.get, path)
        after = found.raise_for_status().json()["last_event_seq"]
    server = urlsplit(place.target.url)
    reader, writer = await asyncio.open_connection(server.hostname, server.port)
    lines = (
        f"GET {path}/events?after={after} HTTP/1.1",
        f"Host: {server.netloc}",
        f"Authorization: Bearer {place.target.api_key}",
    )
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    await reader.readuntil(b"retry: ")
    return reader, writer


async def _listen(reader: asyncio.StreamReader, latencies: list[float]) -> None:
    while line := await reader.readline():
        if line.startswith(b"data: "):
            told = datetime.fromisoformat(json.loads(line[6:])["created_at"])
            latencies.append((datetime.now(UTC) - told).total_seconds() * 1000)


async def _replay(place: _Place, *, session_id: str, events: int) -> list[Measure]:
    before = resident_mb(place.target)
    began = time.monotonic()
    reader, writer = await _opened(place, session_id=session_id, after=0)
    seen = 0
    while seen < events:
        line = await reader.readline()
        if line.startswith(b"id: "):
            seen = int(line[4:])
    seconds = time.monotonic() - began
    writer.close()
    return [
        Measure("replay", round(seconds, 2), "s", at_most=REPLAY_SECONDS),
        Measure("replay_added", round(resident_mb(place.target) - before, 1), "MB"),
    ]


def resident_mb(target: Target) -> float:
    """Of the web server's process; 0 where the system does not tell."""
    port = f"--port\0{urlsplit(target.url).port}\0"
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_text()
            if "-m\0uvicorn\0holamem.asgi" in command and port in command:
                if "holamem.supervisor.guard" in command:
                    continue
                return _resident(process)
        except OSError:
            continue
    return 0.0


def _resident(process: Path) -> float:
    lines = (process / "status").read_text().splitlines()
    kilobytes = next(line for line in lines if line.startswith("VmRSS:")).split()[1]
    return int(kilobytes) / 1024
