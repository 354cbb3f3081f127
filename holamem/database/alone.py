"""One owner of a data directory at a time: the product, or a restore into it."""

from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path


class AlreadyRunning(RuntimeError):
    """Another process has the directory."""


@contextmanager
def only_one(data_dir: Path) -> Iterator[None]:
    """Until the end of the block, or of this process. Raises AlreadyRunning."""
    with (data_dir / "up.lock").open("a") as file:
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRunning(f"holamem already runs on {data_dir}.") from error
        yield
