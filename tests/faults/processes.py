"""Starting processes that are killed or raced: a fork each, from one clean process for all."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any
from unittest import mock

from holamem.environment import PROJECT_DIR
from tests.faults import child
from tests.faults.gate_locks import Gate

PROCESS_SECONDS = 120
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.faults.loaded"])


@dataclass(frozen=True, slots=True)
class Child:
    process: ForkServerProcess
    errors: Connection

    def wait(self) -> int:
        """Its exit code: 0, or minus the signal that ended it. Any other end fails the test."""
        self.process.join(PROCESS_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
            raise AssertionError(f"still running after {PROCESS_SECONDS} s")
        code = self.process.exitcode
        assert code in (0, -signal.SIGKILL), self.errors.recv() if self.errors.poll() else code
        return code or 0

    def is_killed(self) -> bool:
        return self.wait() == -signal.SIGKILL


def start(
    act: Callable[..., object], *arguments: Any, fault: str = "", gate: Gate | None = None
) -> Child:
    """Run `act`, a function of a module, in a process of its own on this test's database."""
    _ensure_loaded()
    settings = {name: value for name, value in os.environ.items() if name.startswith("HOLAMEM_")}
    errors, sender = _context.Pipe(duplex=False)
    process = _context.Process(
        target=child.run,
        args=(act, arguments),
        kwargs={
            "settings": settings | {"HOLAMEM_FAULT": fault},
            "gate": gate.key if gate else None,
            "errors": sender,
        },
        daemon=True,  # what a failed test leaves ends with the run
    )
    process.start()
    sender.close()
    return Child(process, errors)


def _ensure_loaded() -> None:
    """Django's settings are those of now; the product's own are read again in each process."""
    settings = {
        "DJANGO_SETTINGS_MODULE": "holamem.settings",
        "HOLAMEM_LOG_LEVEL": "ERROR",
        "PYTHONPATH": str(PROJECT_DIR),
    }
    with mock.patch.dict(os.environ, settings):
        forkserver.ensure_running()
