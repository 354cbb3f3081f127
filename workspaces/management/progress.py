"""How far a command is: one line that fills up in a terminal, a few plain lines elsewhere."""

import sys

from django.core.management.base import OutputWrapper

WIDTH = 30
PLAIN_STEPS = 10


class ProgressBar:
    """`total` 0: not known, only the count is shown. Written to the error stream."""

    def __init__(self, stream: OutputWrapper) -> None:
        self._stream = stream
        self._is_terminal = sys.stderr.isatty()
        self._shown: dict[str, int] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        step = done * PLAIN_STEPS // total if total else done
        if not self._is_terminal and self._shown.get(what) == step:
            return
        self._shown[what] = step
        is_last = total > 0 and done >= total
        ending = "\n" if is_last or not self._is_terminal else "\r"
        self._stream.write(line(what, done, total), ending=ending)


def line(what: str, done: int, total: int) -> str:
    if not total:
        return f"{what}: {done}"
    filled = WIDTH * done // total
    return f"{what}: [{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total}"
