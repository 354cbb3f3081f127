"""The embedded server through starts, crashes and races, each in a data directory of its own."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from holamem.database.embedded import EmbeddedDatabaseError, EmbeddedServer
from holamem.database.layout import Account, Layout, check_reachable, write_private
from holamem.database.process import command_line, server_pid

SETTINGS = {"shared_buffers": "16MB"}


@contextmanager
def _temporary_data_dir() -> Iterator[Path]:
    """Not pytest's own folder: that one is closed to the user that the server runs as."""
    path = Path(tempfile.mkdtemp(prefix="holamem-embedded-"))
    path.chmod(0o711)
    yield path
    EmbeddedServer(path).stop()
    shutil.rmtree(path)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """An empty one, for tests of the first start."""
    with _temporary_data_dir() as path:
        yield path


@pytest.fixture(scope="module")
def shared_dir() -> Iterator[Path]:
    with _temporary_data_dir() as path:
        yield path


@pytest.fixture
def server(shared_dir: Path) -> EmbeddedServer:
    """Running, whatever the test before did to it."""
    server = EmbeddedServer(shared_dir, settings=SETTINGS)
    server.attach_or_start()
    return server


def _owner_session(server: EmbeddedServer) -> psycopg.Connection:
    return psycopg.connect(server.url(), options="-c role=holamem_owner", autocommit=True)


def test_it_listens_on_a_private_socket_only(server: EmbeddedServer) -> None:
    with psycopg.connect(server.superuser_url("postgres")) as connection:
        addresses = connection.execute("SHOW listen_addresses").fetchone()
        folder = connection.execute("SHOW unix_socket_directories").fetchone()

    assert addresses == ("",)
    assert folder == (str(server.layout.root / "run"),)
    assert server.layout.secret.stat().st_mode & 0o777 == 0o600


def test_a_second_server_object_attaches(server: EmbeddedServer) -> None:
    again = EmbeddedServer(server.layout.data_dir).attach_or_start()

    assert not again.started
    assert again.pid == server_pid(server.layout)


def test_stopping_twice_is_fine_and_leaves_no_process(server: EmbeddedServer) -> None:
    pid = server_pid(server.layout)

    server.stop()
    server.stop()

    assert not server.is_running()
    assert pid is not None
    assert command_line(pid) == []


def test_committed_rows_survive_kill_9_of_the_server(server: EmbeddedServer) -> None:
    with _owner_session(server) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    os.kill(server_pid(server.layout) or 0, signal.SIGKILL)

    assert server.attach_or_start().started

    with _owner_session(server) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_a_stale_pid_file_that_names_another_program_is_ignored(server: EmbeddedServer) -> None:
    server.stop()
    socket_lock = server.layout.root / "run" / ".s.PGSQL.5432.lock"
    for path in (server.layout.pid_file, socket_lock):
        path.write_text(f"{os.getpid()}\n{server.layout.cluster}\n")

    assert server.attach_or_start().started


@pytest.mark.slow
def test_two_starters_at_once_share_one_server(data_dir: Path) -> None:
    def start(_: int) -> tuple[int, bool]:
        handle = EmbeddedServer(data_dir, settings=SETTINGS).attach_or_start()
        return handle.pid, handle.started

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(start, range(2)))

    assert len({pid for pid, _ in results}) == 1
    assert sorted(started for _, started in results) == [False, True]


@pytest.mark.slow
def test_a_frozen_server_is_killed_after_the_grace_period(server: EmbeddedServer) -> None:
    pid = server_pid(server.layout) or 0
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()

    server.stop()

    assert command_line(pid) == []
    assert time.monotonic() - began < 6


def test_a_start_that_was_killed_half_way_is_repeated(server: EmbeddedServer) -> None:
    with psycopg.connect(server.superuser_url("postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE holamem WITH (FORCE)")

    server.attach_or_start()

    assert server.is_running()


def test_a_missing_secret_is_reported_and_nothing_is_replaced(server: EmbeddedServer) -> None:
    server.stop()
    secret = server.layout.secret.read_text()
    server.layout.secret.unlink()

    with pytest.raises(EmbeddedDatabaseError, match=r"postgres\.secret is missing"):
        server.attach_or_start()
    write_private(server.layout.secret, secret)
    assert server.layout.cluster.exists()


def test_a_wrong_secret_is_reported_at_once(server: EmbeddedServer) -> None:
    secret = server.layout.secret.read_text()
    write_private(server.layout.secret, '{"superuser": "wrong", "login": "wrong"}')

    with pytest.raises(EmbeddedDatabaseError, match=r"postgres\.secret is not the server's"):
        server.attach_or_start()
    write_private(server.layout.secret, secret)
    assert server.is_running()


@pytest.mark.slow
def test_a_long_path_moves_only_the_socket(data_dir: Path) -> None:
    deep = data_dir / ("d" * 60) / ("e" * 60)
    server = EmbeddedServer(deep, settings=SETTINGS)
    server.attach_or_start()
    folder = Path(server.layout.socket_record.read_text().strip())
    mode = folder.stat().st_mode & 0o777
    running = server.is_running()

    server.stop()

    assert running
    assert mode == 0o700
    assert not folder.exists()


def test_a_folder_that_the_server_cannot_enter_is_named(data_dir: Path) -> None:
    closed = data_dir / "closed"
    closed.mkdir(mode=0o700)

    with pytest.raises(EmbeddedDatabaseError, match=str(closed)):
        check_reachable(closed / "postgres", Account("someone", uid=54321, gid=54321))


def test_a_database_can_be_made_from_a_template_and_dropped(server: EmbeddedServer) -> None:
    url = server.create_database("copy", template="holamem")
    with psycopg.connect(url) as connection:
        extension = connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'")
        assert extension.fetchone() == (1,)
    server.drop_database("copy")
    server.drop_database("copy")

    assert not server.has_database("copy")


@pytest.mark.slow
def test_a_server_started_with_its_parent_stops_when_that_is_killed(data_dir: Path) -> None:
    parent = _python(
        "server = EmbeddedServer(path); print(server.attach_or_start(with_parent=True).pid)\n"
        "import signal; signal.pause()",
        data_dir,
    )
    pid = int(parent.stdout.readline()) if parent.stdout else 0
    parent.kill()
    parent.wait()

    assert _wait_until(lambda: command_line(pid) == [])


@pytest.mark.slow
def test_the_last_user_stops_the_server_even_when_another_was_killed(data_dir: Path) -> None:
    first, second = (
        _python("use_embedded(path); print('ready')\ninput()", data_dir) for _ in range(2)
    )
    for user in (first, second):
        assert user.stdout
        assert user.stdout.readline() == "ready\n"
    layout = Layout(data_dir)
    first.kill()
    first.wait()
    was_running = server_pid(layout) is not None

    second.communicate("\n")

    assert was_running
    assert server_pid(layout) is None


def _python(code: str, data_dir: Path) -> subprocess.Popen[str]:
    imports = "from holamem.database.embedded import EmbeddedServer, use_embedded\n"
    paths = f"from pathlib import Path\npath = Path({str(data_dir)!r})\n"
    flush = "import functools; print = functools.partial(print, flush=True)\n"
    return subprocess.Popen(
        [sys.executable, "-c", imports + paths + flush + code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _wait_until(condition: object, seconds: float = 8) -> bool:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False
