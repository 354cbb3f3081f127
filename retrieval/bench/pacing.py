"""Questions to a server at a steady pace, whatever it answers, and how long each answer took."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import cycle, islice
from multiprocessing import get_context
from urllib.parse import urlsplit

CONNECTIONS = 32
LINE_END = b"\r\n"


@dataclass(frozen=True, slots=True)
class Pace:
    """`per_second` questions for `seconds`; the first `unmeasured` seconds are not told of."""

    url: str
    path: str
    token: str
    per_second: float
    seconds: float
    unmeasured: float = 0.0


@dataclass(frozen=True, slots=True)
class Told:
    """`millis` count from when a question was due, so that a stall is not hidden; of 200s only."""

    millis: list[float]
    statuses: dict[int, int]
    seconds: float

    @property
    def per_second(self) -> float:
        return sum(self.statuses.values()) / self.seconds


def processes(count: int) -> ProcessPoolExecutor:
    """Askers apart from each other: in one process the one would wait for the other."""
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"))


def ask_at_pace(pace: Pace, questions: Sequence[str]) -> Told:
    return asyncio.run(_ask(pace, questions))


async def _ask(pace: Pace, questions: Sequence[str]) -> Told:
    count = max(1, round(pace.per_second * pace.seconds))
    due: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
    lines = [_Line(pace) for _ in range(min(CONNECTIONS, count))]
    workers = [asyncio.create_task(line.work(due)) for line in lines]
    began = time.monotonic()
    for number, question in enumerate(islice(cycle(questions), count)):
        moment = began + number / pace.per_second
        await asyncio.sleep(max(0.0, moment - time.monotonic()))
        due.put_nowait((moment, _request(pace, question)))
    for _ in workers:
        due.put_nowait(None)
    await asyncio.gather(*workers)
    kept = [
        (status, millis)
        for line in lines
        for moment, status, millis in line.told
        if moment - began >= pace.unmeasured
    ]
    return Told(
        millis=[millis for status, millis in kept if status == 200],
        statuses=dict(Counter(status for status, _ in kept)),
        seconds=max(pace.seconds, time.monotonic() - began) - pace.unmeasured,
    )


class _Line:
    """One connection that is kept; a client library would cost more than the refused requests."""

    def __init__(self, pace: Pace) -> None:
        self._server = urlsplit(pace.url)
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.told: list[tuple[float, int, float]] = []

    async def work(self, due: "asyncio.Queue[tuple[float, bytes] | None]") -> None:
        while (item := await due.get()) is not None:
            moment, request = item
            status = await self._send(request)
            self.told.append((moment, status, (time.monotonic() - moment) * 1000))
        if self._open is not None:
            self._open[1].close()

    async def _send(self, request: bytes) -> int:
        """0 for a connection that broke."""
        try:
            if self._open is None:
                server = self._server
                self._open = await asyncio.open_connection(server.hostname, server.port)
            self._open[1].write(request)
            return await _status(self._open[0])
        except (OSError, asyncio.IncompleteReadError):
            self._open = None
            return 0


async def _status(reader: asyncio.StreamReader) -> int:
    """Reads the whole answer, which must tell its length."""
    head = await reader.readuntil(LINE_END * 2)
    first, *rest = head.split(LINE_END)
    lengths = [line for line in rest if line.lower().startswith(b"content-length:")]
    await reader.readexactly(int(lengths[0].partition(b":")[2]) if lengths else 0)
    return int(first.split()[1])


def _request(pace: Pace, question: str) -> bytes:
    body = json.dumps({"query": question}).encode()
    lines = (
        f"POST {pace.path} HTTP/1.1",
        f"Host: {urlsplit(pace.url).netloc}",
        f"Authorization: Bearer {pace.token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return LINE_END.join(line.encode() for line in lines) + LINE_END * 2 + body
