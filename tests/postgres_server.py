"""A PostgreSQL of its own on a TCP port with SCRAM passwords, as an operator would run one."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from holamem.database.embedded import binary_folder
from holamem.database.layout import Account, Layout, server_account
from holamem.database.process import server_environment

ADMINISTRATOR = "postgres"
ADMINISTRATOR_PASSWORD = "administrator-of-tests"
START_SECONDS = 30.0
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class TcpServer:
    port: int

    def url(self, database: str, *, user: str, password: str) -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def administrator_url(self, database: str) -> str:
        return self.url(database, user=ADMINISTRATOR, password=ADMINISTRATOR_PASSWORD)

    def create_database(self, name: str) -> str:
        """Empty, owned by the administrator; returns the administrator's URL of it."""
        with psycopg.connect(self.administrator_url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.administrator_url(name)

    def run_file(self, path: Path, *, url: str, **variables: str) -> None:
        """As the server's own client runs a script; variables are environment variables."""
        command = [binary_folder() / "psql", url, "-qX", "-v", "ON_ERROR_STOP=1", "-f", path]
        environment = server_environment() | variables
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True)


@contextmanager
def tcp_server() -> Iterator[TcpServer]:
    folder = Path(tempfile.mkdtemp(prefix="holamem-tcp-"))
    account = server_account(Layout(folder))
    if account is not None:
        os.chown(folder, account.uid, account.gid)
    port = _free_port()
    try:
        _initialise(folder, account)
        with (folder / "server.log").open("wb") as log:
            process = _start(folder, account, port=port, log=log.fileno())
        try:
            server = TcpServer(port)
            _wait_until_ready(server, process, log=folder / "server.log")
            yield server
        finally:
            process.terminate()
            process.wait(10)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _initialise(folder: Path, account: Account | None) -> None:
    password_file = folder / "password"
    password_file.write_text(ADMINISTRATOR_PASSWORD)
    password_file.chmod(0o644)
    command = [
        binary_folder() / "initdb", f"--pgdata={folder / 'cluster'}", "--auth=scram-sha-256",
        f"--username={ADMINISTRATOR}", f"--pwfile={password_file}", "--encoding=UTF8",
        "--locale-provider=builtin", "--locale=C.UTF-8", "--no-sync",
    ]  # fmt: skip
    subprocess.run(
        command,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        env=server_environment(),
        cwd=folder,
        check=True,
        capture_output=True,
    )


def _start(
    folder: Path, account: Account | None, *, port: int, log: int
) -> "subprocess.Popen[bytes]":
    settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off"}
    command = [str(binary_folder() / "postgres"), "-D", str(folder / "cluster"), "-p", str(port)]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    return subprocess.Popen(
        command,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        env=server_environment(),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )


def _wait_until_ready(server: TcpServer, process: "subprocess.Popen[bytes]", *, log: Path) -> None:
    ends_at = time.monotonic() + START_SECONDS
    while time.monotonic() < ends_at and process.poll() is None:
        try:
            psycopg.connect(server.administrator_url("postgres"), connect_timeout=3).close()
        except psycopg.OperationalError:
            time.sleep(POLL_SECONDS)
        else:
            return
    raise AssertionError(f"the server did not start:\n{log.read_text()}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
