"""The processes beside the database: started in sessions of their own, stopped for certain."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holamem.database.process import die_with_parent, log_tail
from holamem.environment import PROJECT_DIR

logger = logging.getLogger(__name__)

STOP_SECONDS = 3.0
WORKER_NICENESS = 10
LOG_BYTES = 10 * 1024 * 1024  # a longer log is set aside at the next start, one generation deep


class PartDied(RuntimeError):
    """One part ended by itself; the message says which and shows its last log lines."""


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    process: subprocess.Popen[bytes]
    log: Path
    log_start: int  # bytes that older runs wrote


def web_command(*, port: int) -> list[str]:
    return [
        sys.executable, "-m", "uvicorn", "holamem.asgi:application", "--host", "127.0.0.1",
        "--port", str(port), "--no-access-log", "--timeout-graceful-shutdown", "1",
    ]  # fmt: skip


def worker_command() -> list[str]:
    """Behind the web server in the queue for a core: people wait for one, nobody for the other."""
    cluster = [sys.executable, str(PROJECT_DIR / "manage.py"), "qcluster"]
    return ["nice", "-n", str(WORKER_NICENESS), *cluster]


def runner_command() -> list[str]:
    """People wait for what it streams, so it stands beside the web server in the queue."""
    return [sys.executable, str(PROJECT_DIR / "manage.py"), "runner"]


def start_part(
    name: str, command: Sequence[str], *, environment: Mapping[str, str], logs: Path
) -> Part:
    """Run the command under a guard; its output goes to `<logs>/<name>.log`."""
    logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = logs / f"{name}.log"
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
    with log.open("ab") as output:
        log_start = output.tell()
        process = subprocess.Popen(  # noqa: S603 - our own commands
            [sys.executable, "-m", "holamem.supervisor.guard", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=PROJECT_DIR,
            env={**os.environ, **environment},
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )
    return Part(name, process, log, log_start)


def give_way(part: Part, *, niceness: int) -> None:
    """A kernel that shares the cores between sessions minds a process's own niceness only against
    others of its session: there the session is given one. Fine where there is no such thing.
    """
    try:
        Path(f"/proc/{part.process.pid}/autogroup").write_text(str(niceness), encoding="ascii")
    except OSError:
        logger.debug("supervisor.no_session_niceness", extra={"part": part.name})


def stop_part(part: Part) -> None:
    """SIGTERM, then SIGKILL of the whole group after STOP_SECONDS; fine when it is gone."""
    if part.process.poll() is None:
        part.process.terminate()
        try:
            part.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            pass
    _kill_group(part.process.pid)
    part.process.wait()


def _kill_group(pid: int) -> None:
    """The leader's group, which outlives a leader that crashed."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def require_alive(part: Part) -> None:
    """Raises PartDied."""
    code = part.process.poll()
    if code is not None:
        raise PartDied(died_message(part.name, part.log, code=code, log_start=part.log_start))


def died_message(name: str, log: Path, *, code: int | None = None, log_start: int = 0) -> str:
    ending = "" if code is None else f" with exit code {code}"
    return f"The {name} stopped{ending}. The end of {log}:\n{log_tail(log, start=log_start)}"
