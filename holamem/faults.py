"""Named crash points: where a test may kill, fail or delay a process between two steps.

`HOLAMEM_FAULT=leaf.after_file:kill@2` acts when the point is reached for the second time, and
`any:kill@7` at the seventh point of all. Without the variable a point costs one comparison; production refuses to start with it.
"""

import os
import signal
import time
from dataclasses import dataclass

from holamem.environment import get_environment

ANY = "any"
SLEEP_SECONDS = 2.0

_reached: dict[str, int] = {}


class InjectedFault(RuntimeError):
    """Raised at a point whose action is `raise`."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Acts from the `occurrence`-th time on that `name` is reached."""

    name: str
    action: str
    occurrence: int


def point(name: str) -> None:
    """Does nothing unless this point is the one that was asked for."""
    setting = get_environment().fault
    if setting:
        _reach(name, parse_fault(setting))


def parse_fault(setting: str) -> Fault:
    """`name:action` or `name:action@occurrence`; actions are kill, raise and sleep."""
    name, _, rest = setting.partition(":")
    action, _, occurrence = rest.partition("@")
    if action not in _ACTIONS:
        raise ValueError(f"HOLAMEM_FAULT knows {', '.join(_ACTIONS)}, not {action!r}.")
    return Fault(name, action, int(occurrence or 1))


def _reach(name: str, fault: Fault) -> None:
    if fault.name not in (name, ANY):
        return
    _reached[fault.name] = _reached.get(fault.name, 0) + 1
    if _reached[fault.name] >= fault.occurrence:
        _ACTIONS[fault.action](name)


def _kill(name: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _raise(name: str) -> None:
    raise InjectedFault(name)


def _sleep(name: str) -> None:
    time.sleep(SLEEP_SECONDS)


_ACTIONS = {"kill": _kill, "raise": _raise, "sleep": _sleep}
