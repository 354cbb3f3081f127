"""The WSGI application in a pool of threads, each request in one thread with one crossing.

`a2wsgi` lets the thread wait for the event loop at every message: for the body, the head, each
part and the end. On a busy machine each of these waits is a millisecond of a short request.
"""

import asyncio
import contextvars
from functools import partial
from typing import Any

from a2wsgi import WSGIMiddleware
from a2wsgi.wsgi import Body, WSGIResponder, build_environ

# What a thread may be ahead of a client that reads slowly.
AHEAD_BYTES = 1024 * 1024


class Threads(WSGIMiddleware):
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        # Most bodies have arrived whole with the head.
        body = _Begun(asyncio.get_running_loop(), receive, first=await receive())
        await _Responder(self.app, self.executor, 0).answer(scope, body=body, send=send)


class _Begun(Body):
    """A request's body whose first message is there; later ones are waited for in the thread."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, receive: Any, *, first: dict[str, Any]
    ) -> None:
        super().__init__(loop, receive)
        self.buffer.extend(first.get("body", b""))
        self._has_more = first.get("more_body", False)


class _Responder(WSGIResponder):
    """Its queue has no bound; `send` waits for the client instead, once a megabyte."""

    _ahead = 0
    _sending: "asyncio.Task[None]"

    async def answer(self, scope: Any, *, body: Body, send: Any) -> None:
        environ = build_environ(scope, body)
        self._sending = sender = self.loop.create_task(self.sender(send))
        try:
            run = partial(contextvars.copy_context().run, self.wsgi, environ, self.start_response)
            await self.loop.run_in_executor(self.executor, run)
            self.send_queue.put_nowait(None)
            await sender
        finally:
            sender.cancel()
        if self.exc_info is not None:
            raise self.exc_info[1].with_traceback(self.exc_info[2])

    def send(self, message: Any) -> None:
        self.loop.call_soon_threadsafe(self.send_queue.put_nowait, message)
        self._ahead += len(message.get("body", b""))
        if self._ahead > AHEAD_BYTES:
            self._ahead = 0
            asyncio.run_coroutine_threadsafe(self._caught_up(), self.loop).result()

    async def _caught_up(self) -> None:
        """All that waits is sent, or nothing more will be: a broken client holds no thread."""
        taken = self.loop.create_task(self.send_queue.join())
        await asyncio.wait({taken, self._sending}, return_when=asyncio.FIRST_COMPLETED)
        taken.cancel()
