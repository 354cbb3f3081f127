"""Where the embedded server keeps what inside the data directory, and as whom it runs."""

import json
import os
import pwd
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# sun_path holds 108 bytes on Linux and 104 elsewhere, with the final NUL; the file name is
# `.s.PGSQL.5432.lock` at most while PostgreSQL checks the length.
SOCKET_PATH_BYTES = 103
SOCKET_NAME = ".s.PGSQL.5432"
UNPRIVILEGED_ACCOUNTS = ("nobody", "daemon")


class EmbeddedDatabaseError(RuntimeError):
    """The embedded server cannot run here; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Account:
    """The operating system's user that the server process runs as when we are root."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of one data directory. Only `root` may belong to the server's account."""

    data_dir: Path

    @property
    def root(self) -> Path:
        return self.data_dir / "postgres"

    @property
    def cluster(self) -> Path:
        return self.root / "cluster"

    @property
    def pid_file(self) -> Path:
        return self.cluster / "postmaster.pid"

    @property
    def secret(self) -> Path:
        return self.data_dir / "postgres.secret"

    @property
    def start_lock(self) -> Path:
        return self.data_dir / "postgres.lock"

    @property
    def users_lock(self) -> Path:
        return self.data_dir / "postgres.users"

    @property
    def socket_record(self) -> Path:
        return self.data_dir / "postgres.socket"

    @property
    def log(self) -> Path:
        return self.data_dir / "logs" / "postgres.log"


@dataclass(frozen=True, slots=True)
class Passwords:
    """Generated once; the superuser's is used for the bootstrap and for test databases only."""

    superuser: str
    login: str


def server_account(layout: Layout) -> Account | None:
    """None when this process is not root, since then the server simply runs as ourselves.

    A `postgres/` that already belongs to a plain user keeps that owner, so that root and that
    user can take turns with one data directory.
    """
    if os.geteuid() != 0:
        return None
    if layout.root.exists() and layout.root.stat().st_uid != 0:
        entry = pwd.getpwuid(layout.root.stat().st_uid)
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    for name in UNPRIVILEGED_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedDatabaseError(
        "PostgreSQL refuses to run as root and none of these users exists: "
        + ", ".join(UNPRIVILEGED_ACCOUNTS)
    )


def prepare_directories(layout: Layout, account: Account | None) -> None:
    """Create what is missing; raises when the account cannot reach `postgres/`."""
    layout.data_dir.mkdir(mode=0o700 if account is None else 0o711, parents=True, exist_ok=True)
    layout.log.parent.mkdir(mode=0o700, exist_ok=True)
    layout.root.mkdir(mode=0o700, exist_ok=True)
    if account is not None:
        check_reachable(layout.root, account)
        _give_to(layout.root, account)


def check_reachable(path: Path, account: Account) -> None:
    """Every directory above `path` must let the account pass; we never change those ourselves."""
    for parent in reversed(path.resolve().parents):
        if not _may_traverse(parent.stat(), account):
            raise EmbeddedDatabaseError(
                f"the user {account.name} cannot enter {parent}, which holds {path}. Allow it"
                f" with `chmod o+x {parent}`, choose another directory, or set HOLAMEM_DATABASE_URL."
            )


def _may_traverse(status: os.stat_result, account: Account) -> bool:
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)


def _give_to(root: Path, account: Account) -> None:
    if root.stat().st_uid == account.uid:
        return
    for path in _tree(root):
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def _tree(root: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        yield from (Path(folder, name) for name in (*names, *files))
    yield root


def read_or_make_passwords(layout: Layout) -> Passwords:
    """The two passwords; a cluster without its secret is an error, not a reason to start over."""
    passwords = read_passwords(layout)
    if passwords is not None:
        return passwords
    if layout.cluster.exists():
        raise EmbeddedDatabaseError(f"{layout.secret} is missing; restore it from a backup")
    passwords = Passwords(secrets.token_urlsafe(24), secrets.token_urlsafe(24))
    write_private(
        layout.secret,
        json.dumps({"superuser": passwords.superuser, "login": passwords.login}) + "\n",
    )
    return passwords


def read_passwords(layout: Layout) -> Passwords | None:
    try:
        stored = json.loads(layout.secret.read_text())
        return Passwords(stored["superuser"], stored["login"])
    except FileNotFoundError:
        return None
    except (PermissionError, ValueError, KeyError, TypeError) as error:
        raise EmbeddedDatabaseError(f"{layout.secret} cannot be read: {error}") from error


def write_private(path: Path, text: str) -> None:
    """Replace the file in one step; nobody but its owner can ever open it."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def make_socket_directory(layout: Layout, account: Account | None) -> Path:
    """Inside `postgres/` where the path is short enough, else in the system's temporary folder.

    The choice is recorded, so that a process that only attaches finds it.
    """
    inside = layout.root / "run"
    if len(os.fsencode(inside / SOCKET_NAME)) <= SOCKET_PATH_BYTES:
        inside.mkdir(mode=0o700, exist_ok=True)
        chosen = inside
    else:
        chosen = _short_directory(layout)
    if account is not None:
        os.chown(chosen, account.uid, account.gid)
    write_private(layout.socket_record, f"{chosen}\n")
    return chosen


def _short_directory(layout: Layout) -> Path:
    drop_short_directory(layout)
    for base in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - mkdtemp makes it private
        if len(os.fsencode(base)) + len("/holamem-12345678/" + SOCKET_NAME) <= SOCKET_PATH_BYTES:
            return Path(tempfile.mkdtemp(prefix="holamem-", dir=base))  # mode 0700
    raise EmbeddedDatabaseError(f"no folder is short enough for a socket of {layout.data_dir}")


def recorded_socket_directory(layout: Layout) -> Path | None:
    try:
        return Path(layout.socket_record.read_text().strip())
    except FileNotFoundError:
        return None


def drop_short_directory(layout: Layout) -> None:
    """Remove what a stopped server left in the temporary folder."""
    recorded = recorded_socket_directory(layout)
    if recorded is not None and recorded != layout.root / "run":
        shutil.rmtree(recorded, ignore_errors=True)
        layout.socket_record.unlink(missing_ok=True)
