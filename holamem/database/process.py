"""The server's process: spawned with a parent-death signal, found again, stopped for certain."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_UN, flock
from pathlib import Path

from holamem.database.layout import Account, Layout

PR_SET_PDEATHSIG = 1  # linux/prctl.h
GRACE_SECONDS = 3.0
POLL_SECONDS = 0.05
LOG_TAIL_LINES = 8


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Wait for the lock of this file; the kernel releases it even after kill -9."""
    with path.open("a") as file:
        flock(file, LOCK_EX)
        try:
            yield
        finally:
            flock(file, LOCK_UN)


def die_with_parent(signal_number: int) -> Callable[[], None] | None:
    """A `preexec_fn` that asks the kernel to signal the child when its parent dies (Linux).

    It must run after the change of user, which clears the setting; `subprocess` does that.
    The caller's thread has to live as long as the child: the kernel counts threads as parents.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def arm() -> None:
        prctl(PR_SET_PDEATHSIG, signal_number)
        if os.getppid() != parent:  # it died before the call
            os._exit(1)

    return arm


def spawn(
    command: Sequence[str], *, layout: Layout, account: Account | None, with_parent: bool
) -> subprocess.Popen[bytes]:
    """Run PostgreSQL in a session of its own, so that Ctrl-C reaches only us."""
    with layout.log.open("ab") as log:
        # S603: the command is built from the wheel's path and our own flags.
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=layout.cluster,
            env=server_environment(),
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            umask=0o077,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGINT) if with_parent else None,
        )


def server_environment() -> dict[str, str]:
    """Nothing of the caller's: PG* variables and foreign locales must not reach the server."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def server_pid(layout: Layout) -> int | None:
    """The pid of this directory's server, or None.

    The pid file alone proves nothing: after a crash or a container's restart its number may
    belong to another program, so the process must be a postgres of this very cluster.
    """
    pid = _recorded_pid(layout)
    if pid is None:
        return None
    arguments = command_line(pid)
    is_ours = str(layout.cluster) in arguments and Path(arguments[0]).name == "postgres"
    return pid if is_ours else None


def _recorded_pid(layout: Layout) -> int | None:
    try:
        return int(layout.pid_file.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None


def command_line(pid: int) -> list[str]:
    """Arguments of a process; empty when it is gone or a zombie."""
    if sys.platform == "linux":
        try:
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return []
        return [os.fsdecode(part) for part in raw.split(b"\0") if part]
    found = subprocess.run(  # noqa: S603 - a fixed command with a number
        ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return found.stdout.split()


def remove_stale_files(layout: Layout, socket_directory: Path) -> None:
    """Drop lock files of a server that is gone; PostgreSQL keeps them when the pid is reused."""
    layout.pid_file.unlink(missing_ok=True)
    for stale in socket_directory.glob(".s.PGSQL.*"):
        stale.unlink(missing_ok=True)


def stop_server(layout: Layout) -> None:
    """Fast shutdown, then SIGKILL of the whole group after GRACE_SECONDS."""
    pid = server_pid(layout)
    if pid is None:
        return
    _signal(pid, signal.SIGINT)
    if not _gone_within(layout, pid, GRACE_SECONDS):
        _signal_group(pid, signal.SIGKILL)
        _gone_within(layout, pid, GRACE_SECONDS)


def _signal(pid: int, signal_number: int) -> None:
    try:
        os.kill(pid, signal_number)
    except ProcessLookupError:
        pass


def _signal_group(pid: int, signal_number: int) -> None:
    try:
        os.killpg(pid, signal_number)
    except ProcessLookupError:
        pass


def _gone_within(layout: Layout, pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while str(layout.cluster) in command_line(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def log_tail(path: Path, *, start: int = 0) -> str:
    """The last lines that were written after byte `start`; empty when there are none."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            lines = file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    return "\n".join(lines[-LOG_TAIL_LINES:])
