"""Who follows which session in this process, and what is told to all of them from one read.

Everything here runs in the event loop's own thread. A follower asks for what comes after the
number that it has seen: from the newest frames, which all followers of the session share, or, when
those begin later, from the database. So nothing is kept for one client.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import Protocol
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import Error

from agents.streaming.frames import Frame, Source, last_seqs, read_frames
from agents.streaming.listening import listen
from agents.streaming.reader import Reader
from agents.streaming.stopping import call_at_stop

logger = logging.getLogger(__name__)

POLL_SECONDS = 5.0  # for what a lost connection did not tell
KEPT_BYTES = 64 * 1024  # of a session's newest frames; who is further behind reads for itself
KEPT_SECONDS = 5.0  # an erasure empties rows, and reaches no frame that was made of one
TENANT_STREAMS = 500  # open at once in one process


class Follows(Protocol):
    """A client's side of it, which is woken when there may be something new."""

    @property
    def source(self) -> Source: ...

    def wake(self) -> None: ...


class Feed:
    """One session: its newest frames without a gap, the last of them numbered `tip`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.followers: set[Follows] = set()
        self.frames: deque[Frame] = deque()
        self.tip = self.heard = source.last_seq
        self._size = 0

    def add(self, frames: list[Frame]) -> None:
        for frame in frames:
            self.frames.append(frame)
            self._size += len(frame.data)
        self.tip = frames[-1].seq
        while self._size > KEPT_BYTES and len(self.frames) > 1:
            self._drop_first()

    def newer(self, seen: int) -> list[Frame] | None:
        """After `seen` in order; None when some of it is only in the database."""
        while self.frames and self.frames[0].read_at < time.monotonic() - KEPT_SECONDS:
            self._drop_first()
        if seen >= self.tip:
            return []
        if not self.frames or self.frames[0].seq > seen + 1:
            return None
        found: list[Frame] = []
        for frame in reversed(self.frames):
            if frame.seq <= seen:
                break
            found.append(frame)
        return found[::-1]

    def _drop_first(self) -> None:
        self._size -= len(self.frames.popleft().data)


class Hub:
    """Listens, polls and reads only while somebody follows."""

    def __init__(self) -> None:
        self.is_stopping = False
        self.tenants: Counter[UUID] = Counter()
        self._feeds: dict[UUID, Feed] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._readings: set[asyncio.Task[None]] = set()
        self._live: Reader | None = None
        self._own: Reader | None = None

    def join(self, follower: Follows) -> Feed:
        if not self._feeds:
            self._begin()
        source = follower.source
        feed = self._feeds.setdefault(source.session_id, Feed(source))
        feed.followers.add(follower)
        self.tenants[source.workspace.tenant_id] += 1
        self.hear(source.session_id, source.last_seq)
        return feed

    def leave(self, follower: Follows) -> None:
        source = follower.source
        feed = self._feeds[source.session_id]
        feed.followers.discard(follower)
        self.tenants -= Counter([source.workspace.tenant_id])
        if not feed.followers:
            del self._feeds[source.session_id]
        if not self._feeds:
            self._end()

    def stop(self) -> None:
        """The server ends: all followers say so to their clients and go."""
        self.is_stopping = True
        self._wake_all()

    def hear(self, session_id: UUID, seq: int) -> None:
        """That the session has an event of this number. Reads it, if anybody follows."""
        feed = self._feeds.get(session_id)
        if feed is None:
            return
        is_read = feed.heard > feed.tip
        feed.heard = max(feed.heard, seq)
        if feed.heard > feed.tip and not is_read:
            reading = asyncio.get_running_loop().create_task(self._read_on(feed))
            self._readings.add(reading)
            reading.add_done_callback(self._readings.discard)

    async def read_own(self, source: Source, *, after: int) -> list[Frame]:
        """A page for one follower that is behind."""
        return await _of(self._own).read(partial(read_frames, source, after=after))

    async def check(self, is_admitted: Callable[[], bool]) -> bool:
        return await _of(self._own).read(is_admitted)

    async def catch_up(self) -> None:
        """Ask for the newest numbers of all sessions that are followed, in one query."""
        wanted = list(self._feeds)
        try:
            newest = await _of(self._live).read(partial(last_seqs, wanted))
        except Error:
            logger.warning("events.poll_failed", exc_info=True)
            return
        for session_id, seq in newest.items():
            self.hear(session_id, seq)

    async def _read_on(self, feed: Feed) -> None:
        source = feed.source
        try:
            while feed.heard > feed.tip and feed.followers:
                next_page = partial(read_frames, source, after=feed.tip)
                frames = await _of(self._live).read(next_page)
                if not frames:
                    break
                feed.add(frames)
                for follower in feed.followers:
                    follower.wake()
        except Error:
            logger.warning("events.read_failed", exc_info=True)
        finally:
            feed.heard = feed.tip  # the poll will say so again

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            await self.catch_up()

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        call_at_stop(loop, self.stop)
        self._live, self._own = Reader("events"), Reader("replay")
        listening = listen(hear=self.hear, catch_up=self.catch_up)
        self._tasks = [loop.create_task(listening), loop.create_task(self._poll())]

    def _end(self) -> None:
        for task in [*self._tasks, *self._readings]:
            task.cancel()
        _of(self._live).close()
        _of(self._own).close()
        self._live = self._own = None

    def _wake_all(self) -> None:
        for feed in self._feeds.values():
            for follower in feed.followers:
                follower.wake()


def _of(reader: Reader | None) -> Reader:
    if reader is None:
        raise RuntimeError("nobody follows")
    return reader


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def running_hub() -> Hub:
    """Of the event loop that this is called in."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())


def open_streams(tenant_id: UUID) -> int:
    """In this process; from any thread."""
    return sum(hub.tenants[tenant_id] for hub in list(_hubs.values()))
