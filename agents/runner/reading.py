"""A stream that is read in a thread of its own, so that its run can write, wait and be cancelled
whatever the service does.
"""

import queue
import threading
from dataclasses import dataclass

from holamem.providers.streaming import ChatStream, StreamCancelled, StreamItem

WAITING_ITEMS = 1_000  # then the service waits for us
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """`error` None: the answer is complete."""

    error: Exception | None


class StreamReader:
    """`close` does not wait: what still comes is read by nobody and its thread ends by itself."""

    def __init__(self, stream: ChatStream) -> None:
        self._stream = stream
        self._items: queue.Queue[StreamItem | StreamEnd] = queue.Queue(WAITING_ITEMS)
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._read, name="stream", daemon=True)
        self._thread.start()

    def next(self, seconds: float) -> StreamItem | StreamEnd | None:
        """None: nothing came in that time."""
        try:
            return self._items.get(timeout=seconds)
        except queue.Empty:
            return None

    def close(self) -> None:
        self._is_closed.set()
        self._stream.close()

    def _read(self) -> None:
        error: Exception | None = None
        try:
            for item in self._stream:
                if not self._put(item):
                    return
        except StreamCancelled as closed:
            error = closed
        except Exception as raised:  # noqa: BLE001 - the run's thread raises it again
            error = raised
        self._put(StreamEnd(error))

    def _put(self, item: StreamItem | StreamEnd) -> bool:
        """False when nobody reads any more."""
        while not self._is_closed.is_set():
            try:
                self._items.put(item, timeout=LOOK_SECONDS)
            except queue.Full:
                continue
            return True
        return False
