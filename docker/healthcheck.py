"""Whether this container does its work; exit code 0 or 1. Needs the standard library only."""

import os
import sys
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path

WEB_SECONDS = 8  # less than the time that the container engine allows
WORKER_PROCESSES = 3  # the cluster, its guard, and at least one worker


def web_is_ready() -> bool:
    """As the proxy would ask: with an allowed host, and as HTTPS, which is not redirected."""
    hosts = os.environ.get("HOLAMEM_ALLOWED_HOSTS") or "localhost"
    headers = {"Host": hosts.split(",")[0].strip(), "X-Forwarded-Proto": "https"}
    port = int(os.environ.get("HOLAMEM_PORT") or 8000)
    connection = HTTPConnection("127.0.0.1", port, timeout=WEB_SECONDS)
    try:
        connection.request("GET", "/readyz", headers=headers)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def worker_is_running(processes: Path = Path("/proc")) -> bool:
    """Late work turns /readyz of the web container red; here only a dead cluster is noticed."""
    return _count("qcluster", processes) >= WORKER_PROCESSES


def runner_is_running(processes: Path = Path("/proc")) -> bool:
    """One that hangs loses its runs to others by their leases; here only a dead one is noticed."""
    return _count("runner", processes) >= 1


def _count(command: str, processes: Path) -> int:
    """Processes with this word among their arguments; the shell of the health check has none."""
    return sum(_has_argument(process, command) for process in processes.glob("[0-9]*"))


def _has_argument(process: Path, word: str) -> bool:
    try:
        arguments = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"manage.py" in arguments and word.encode() in arguments


CHECKS: dict[str, Callable[[], bool]] = {
    "web": web_is_ready,
    "worker": worker_is_running,
    "runner": runner_is_running,
}

if __name__ == "__main__":
    sys.exit(0 if CHECKS[sys.argv[1]]() else 1)
