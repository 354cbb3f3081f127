"""How long each stage took; the stages do not know of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Trace:
    """Milliseconds by stage, in the order in which the stages ran."""

    def __init__(self) -> None:
        self.timings_ms: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            spent = (perf_counter() - started) * 1000
            self.timings_ms[name] = round(self.timings_ms.get(name, 0.0) + spent, 2)
