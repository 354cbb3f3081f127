"""Ctrl-C and SIGTERM as one exception, raised once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(BaseException):
    """Not an Exception, so that no handler on the way mistakes it for a failure."""


class StopSignals:
    """The first signal raises StopRequested in the main thread; later ones do nothing.

    No Event is set from the handler: a second signal inside `Event.set` dead-locks.
    """

    def __init__(self) -> None:
        self._seen = False
        self._held = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Put a stop off to the end of a step that must not be cut in two."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._seen:
            raise StopRequested

    def ignore(self) -> None:
        """From now on a stop is under way, and nothing may interrupt it."""
        self._held = self._seen = True

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        first, self._seen = not self._seen, True
        if first and not self._held:
            raise StopRequested
