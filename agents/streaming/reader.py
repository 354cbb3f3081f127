"""Reading the database for the event loop: a thread with one connection, only while it is needed."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import close_old_connections, connections

Result = TypeVar("Result")


class Reader:
    """Works in the order of asking. However many streams there are, they share its connection."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def read(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, _checked, work)

    def close(self) -> None:
        """After what was asked for; the connection ends with it."""
        self._thread.submit(connections.close_all)
        self._thread.shutdown(wait=False)


def _checked(work: Callable[[], Result]) -> Result:
    close_old_connections()
    return work()
