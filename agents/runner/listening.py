"""Hearing at once that a run is due or was cancelled; a poll stands behind it."""

import logging
import threading
from collections.abc import Callable

import psycopg
from django.db import connections

from agents.services.states import WAKE_CHANNEL
from holamem.environment import get_environment

logger = logging.getLogger(__name__)

AGAIN_SECONDS = 1.0
LOOK_SECONDS = 0.5  # how soon a stop is noticed
# Django's own wishes for its connections.
NOT_OF_LIBPQ = ("cursor_factory", "context", "prepare_threshold")


class Listener:
    """A thread with a connection of its own, directly to the server."""

    def __init__(self, hear: Callable[[], None]) -> None:
        self._hear = hear
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Its thread ends a moment later; nobody need wait for that."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._listen()
            except (psycopg.Error, OSError):
                logger.warning("runner.listening_lost")
            self._stop.wait(AGAIN_SECONDS)

    def _listen(self) -> None:
        with _connect() as connection:
            connection.execute(f"LISTEN {WAKE_CHANNEL}")
            self._hear()  # what was committed before this moment was not heard
            while not self._stop.is_set():
                for _ in connection.notifies(timeout=LOOK_SECONDS, stop_after=1):
                    self._hear()


def _connect() -> "psycopg.Connection[tuple[object, ...]]":
    direct = get_environment().direct_database_url
    if direct:
        return psycopg.connect(direct, autocommit=True)
    given = connections["default"].get_connection_params()
    plain = {name: value for name, value in given.items() if name not in NOT_OF_LIBPQ}
    return psycopg.connect(**plain, autocommit=True)
