"""To know that the server is about to stop: streams end then, and it need not wait for them.

The server tells its applications only after the last answer has ended, which a stream never does.
"""

import asyncio
import signal
import threading
from collections.abc import Callable
from types import FrameType

Stop = Callable[[], object]

_stops: dict[asyncio.AbstractEventLoop, Stop] = {}
_watched: dict[int, object] = {}


def call_at_stop(loop: asyncio.AbstractEventLoop, stop: Stop) -> None:
    """In the loop's own thread, on SIGTERM and SIGINT, before the server's own handling of them.

    Outside of the main thread, as in tests, nobody is told of signals: the server cancels then.
    """
    _stops[loop] = stop
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            _watch(number)


def _watch(number: int) -> None:
    handler = signal.getsignal(number)
    if not callable(handler) or _watched.get(number) is handler:
        return

    def tell(signal_number: int, frame: FrameType | None) -> None:
        for loop, stop in list(_stops.items()):
            if not loop.is_closed():
                loop.call_soon_threadsafe(stop)
        handler(signal_number, frame)

    signal.signal(number, tell)
    _watched[number] = tell
