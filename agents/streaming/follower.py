"""One client that follows a session: what is new as it comes, a sign of life, an end."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from django.db import Error

from agents.streaming.frames import HEARTBEAT, RESUME, RETRY, Frame, Source
from agents.streaming.hub import Feed, Hub, running_hub
from holamem.http.body_limit import Receive, Send

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 15.0
CHECK_SECONDS = 15.0  # until a revoked key's stream ends
SLOW_SECONDS = 30.0  # a client that takes nothing for so long is dropped
END_SECONDS = 0.5
SENT_BYTES = 32 * 1024  # in one message; more than one is never waiting


class Follower:
    """The body of an answer, after `seen`. `is_admitted` is asked again and again while it lasts.

    Events are in the log before they are here and stay there: whenever this ends, the client comes
    again with the last id that it has.
    """

    def __init__(self, source: Source, *, seen: int, is_admitted: Callable[[], bool]) -> None:
        self.source = source
        self._seen = seen
        self._is_admitted = is_admitted
        self._is_gone = False
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def __call__(self, receive: Receive, send: Send) -> None:
        watching = asyncio.get_running_loop().create_task(self._watch(receive))
        hub = running_hub()
        feed = hub.join(self)
        try:
            await self._follow(hub, feed, send)
            await _end(send)
        except TimeoutError:
            logger.info("events.slow_client", extra={"session_id": str(self.source.session_id)})
        except asyncio.CancelledError:  # the server waits no longer
            await _end(send)
            raise
        finally:
            hub.leave(self)
            watching.cancel()

    async def _follow(self, hub: Hub, feed: Feed, send: Send) -> None:
        """Until the client is gone, may not follow any more, or has to come again."""
        await _send(send, RETRY)
        beat = check = time.monotonic()
        while not (self._is_gone or hub.is_stopping):
            self._woken.clear()
            if time.monotonic() - check > CHECK_SECONDS:
                check = time.monotonic()
                if not await self._may_stay(hub):
                    return
            frames = await self._newer(hub, feed)
            if frames is None:
                return
            await self._send_frames(send, frames)
            if frames:
                beat = time.monotonic()
            elif time.monotonic() - beat > HEARTBEAT_SECONDS:
                beat = time.monotonic()
                await _send(send, HEARTBEAT)
            else:
                await self._rest(min(beat + HEARTBEAT_SECONDS, check + CHECK_SECONDS))

    async def _newer(self, hub: Hub, feed: Feed) -> list[Frame] | None:
        """None when the log can't be read, or does not hold any more what the session had."""
        shared = feed.newer(self._seen)
        if shared is not None:
            return shared
        try:
            return await hub.read_own(self.source, after=self._seen) or None
        except Error:
            logger.warning("events.replay_failed", exc_info=True)
            return None

    async def _send_frames(self, send: Send, frames: list[Frame]) -> None:
        waiting = bytearray()
        for frame in frames:
            if waiting and len(waiting) + len(frame.data) > SENT_BYTES:
                await _send(send, bytes(waiting))
                waiting.clear()
            waiting += frame.data
        if waiting:
            await _send(send, bytes(waiting))
        if frames:
            self._seen = frames[-1].seq

    async def _may_stay(self, hub: Hub) -> bool:
        try:
            return await hub.check(self._is_admitted)
        except Error:  # nothing can be read meanwhile either
            return True

    async def _rest(self, until: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, until - time.monotonic()) + 0.01):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._is_gone = True
        self.wake()


async def _send(send: Send, data: bytes) -> None:
    """Raises TimeoutError for a client that takes nothing."""
    async with asyncio.timeout(SLOW_SECONDS):
        await send({"type": "http.response.body", "body": data, "more_body": True})


async def _end(send: Send) -> None:
    """With a hint. For a client that takes nothing the end is that of its connection."""
    with suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            await send({"type": "http.response.body", "body": RESUME, "more_body": False})
