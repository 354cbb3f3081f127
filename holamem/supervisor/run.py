"""Everything on one machine in the foreground until told to stop: database, worker, web server,
and the runner of agents.
"""

import http.client
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from django.db import connections

from holamem.database.alone import AlreadyRunning, only_one
from holamem.database.embedded import EmbeddedServer
from holamem.database.process import server_pid
from holamem.database.schema import UnservableSchema, require_servable_schema
from holamem.errors import HolamemError
from holamem.supervisor import installation
from holamem.supervisor.installation import FirstCredentials
from holamem.supervisor.parts import (
    WORKER_NICENESS,
    Part,
    PartDied,
    died_message,
    give_way,
    require_alive,
    runner_command,
    start_part,
    stop_part,
    web_command,
    worker_command,
)
from holamem.supervisor.signals import StopSignals
from workspaces.index.embedding import check_configured_model

READY_SECONDS = 90.0  # the first request loads the embedding model


class CannotStart(RuntimeError):
    """Something outside of us has to change first; the message says what."""


@dataclass(slots=True)
class Machine:
    """What runs, in the order of its start; `stop` goes the other way round."""

    data_dir: Path
    port: int
    signals: StopSignals
    database: EmbeddedServer | None = None
    held: IO[str] | None = None  # a command that leaves must not stop the server under us
    parts: dict[str, Part] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process that a SIGTERM stops everything with."""
        return os.getpid()

    def start_database(self) -> None:
        """An external database is used as it is; otherwise the embedded one is started."""
        if os.environ.get("HOLAMEM_DATABASE_URL"):
            return
        server = EmbeddedServer(self.data_dir)
        with self.signals.held():
            self.database = server
            handle = server.attach_or_start(with_parent=True)
            self.held = server.hold()
        installation.use_database(handle.url)

    def start_worker(self) -> None:
        self._start("worker", worker_command())
        give_way(self.parts["worker"], niceness=WORKER_NICENESS)

    def start_web(self) -> None:
        self._start("web", web_command(port=self.port))

    def start_runner(self) -> None:
        self._start("runner", runner_command())

    def _start(self, name: str, command: list[str]) -> None:
        environment = {
            "HOLAMEM_PROCESS": name,
            "HOLAMEM_DATA_DIR": str(self.data_dir),
            "HOLAMEM_PORT": str(self.port),
            "PYTHONUNBUFFERED": "1",
        }
        with self.signals.held():
            self.parts[name] = start_part(
                name, command, environment=environment, logs=self.data_dir / "logs"
            )

    def restart_worker(self) -> None:
        stop_part(self.parts["worker"])
        self.start_worker()

    def require_alive(self) -> None:
        """Raises PartDied for the first part that ended; the database comes first."""
        if self.database is not None and server_pid(self.database.layout) is None:
            raise PartDied(died_message("database", self.database.layout.log))
        for part in self.parts.values():
            require_alive(part)

    def stop(self) -> None:
        """Web, runner, worker, database: nobody accepts what nobody can store."""
        for name in ("web", "runner", "worker"):
            if name in self.parts:
                stop_part(self.parts.pop(name))
        connections.close_all()
        if self.database is not None:
            self.database.stop()


@contextmanager
def running_machine(
    data_dir: Path, *, port: int, signals: StopSignals, say: Callable[[str], None]
) -> Iterator[tuple[Machine, FirstCredentials]]:
    """All parts up and answering. Raises CannotStart, PartDied, StopRequested."""
    _prepare(data_dir)
    with _only_one(data_dir):
        _require_free(port)
        machine = Machine(data_dir, port, signals)
        try:
            say("Starting the database …")
            machine.start_database()
            _require_servable_schema()
            installation.migrate()
            installation.ensure_secret_key(data_dir)
            credentials = installation.ensure_credentials(data_dir)
            _require_known_model()
            say("Starting the worker and the web server …")
            machine.start_worker()
            machine.start_web()
            _wait_until_ready(machine)
            # After the web server: the first page need not share the cores with its start.
            machine.start_runner()
            yield machine, credentials
        finally:
            signals.ignore()
            say("Stopping …")
            machine.stop()


def _prepare(data_dir: Path) -> None:
    try:
        mode = 0o711 if os.geteuid() == 0 else 0o700  # root's server runs as another user
        data_dir.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStart(f"The data directory {data_dir} cannot be made: {error}") from error


@contextmanager
def _only_one(data_dir: Path) -> Iterator[None]:
    try:
        with only_one(data_dir):
            yield
    except AlreadyRunning as error:
        raise CannotStart(str(error)) from error


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise CannotStart(
                f"Port {port} is in use. Choose another with --port or HOLAMEM_PORT."
            ) from error


def _require_servable_schema() -> None:
    """A database of a newer release, or half a restore, stays as it is."""
    try:
        require_servable_schema()
    except UnservableSchema as error:
        raise CannotStart(str(error)) from error


def _require_known_model() -> None:
    """Vectors of two models are not comparable: nothing may start that would mix them."""
    try:
        check_configured_model()
    except HolamemError as error:
        raise CannotStart(error.message) from error


def _wait_until_ready(machine: Machine) -> None:
    deadline = time.monotonic() + READY_SECONDS
    status = "no answer"
    while time.monotonic() < deadline:
        machine.require_alive()
        status = _readiness(machine.port)
        if status == "200":
            return
        time.sleep(0.2)
    log = machine.parts["web"].log
    raise PartDied(
        f"The web server was not ready after {READY_SECONDS:.0f} s ({status}). See {log}."
    )


def _readiness(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/readyz")
        return str(connection.getresponse().status)
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()
