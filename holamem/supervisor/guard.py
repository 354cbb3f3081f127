"""Runs one child and makes sure that its whole session ends: `-m holamem.supervisor.guard CMD…`.

A worker cluster forks processes that outlive a killed parent, and can hang while it stops. The
guard gets the kernel's parent-death signal in its place, so even kill -9 of the supervisor
leaves nothing behind. It imports nothing heavy, because it runs beside each child.
"""

import os
import signal
import subprocess
import sys

GRACE_SECONDS = 2.5  # below the supervisor's own, which is the fallback


class Guard:
    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self.stopping = False

    def run(self, command: list[str]) -> int:
        """The child's exit code, negative for a signal; kills the group when told to stop."""
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, self._on_grace_over)
        self.child = subprocess.Popen(command)  # noqa: S603 - the supervisor's own command
        if self.stopping:
            self.child.terminate()
        code = self.child.wait()
        if self.stopping:
            kill_own_group()
        return code

    def _on_stop(self, *_: object) -> None:
        if not self.stopping:
            signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS)
        self.stopping = True
        if self.child is not None and self.child.returncode is None:
            os.kill(self.child.pid, signal.SIGTERM)

    def _on_grace_over(self, *_: object) -> None:
        kill_own_group()


def kill_own_group() -> None:
    """Everything in the session, ourselves included."""
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    status = Guard().run(sys.argv[1:])
    sys.exit(status if status >= 0 else 128 - status)
