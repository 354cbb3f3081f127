"""Failing the k-th operation of a kind: a statement, a commit's answer, a file call, a point."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO
from unittest import mock

from django.core.files.storage import filesystem
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, connections

from holamem import faults
from workspaces import bodies


@dataclass(slots=True)
class Failing:
    """Counts operations; the `at`-th fails, and with `is_lasting` all after it as well."""

    at: int
    is_lasting: bool = False
    seen: int = 0

    def is_due(self) -> bool:
        self.seen += 1
        return self.seen == self.at or (self.is_lasting and self.seen > self.at)

    @property
    def was_reached(self) -> bool:
        return self.seen >= self.at

    def stop(self) -> None:
        """What was broken is whole again."""
        self.at, self.is_lasting = 0, False


Kind = Callable[[Failing], AbstractContextManager[None]]


@contextmanager
def statements(failing: Failing) -> Iterator[None]:
    """The server is gone before the statement reaches it."""

    def wrapper(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if failing.is_due():
            raise OperationalError("the connection is lost")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        yield


@contextmanager
def answers_to_commits(failing: Failing) -> Iterator[None]:
    """The server has committed, and its answer is lost."""
    database = connections[DEFAULT_DB_ALIAS]  # the object itself: of a proxy nothing is patched
    commit = database.commit

    def commit_and_lose() -> None:
        commit()
        if failing.is_due():
            raise OperationalError("the connection is lost")

    with mock.patch.object(database, "commit", commit_and_lose):
        yield


@contextmanager
def file_calls(failing: Failing) -> Iterator[None]:
    """Each call that the body store makes of the system, with an error that it really gives."""
    make_directories = _failing(failing, bodies.make_directories, errno.ENOSPC)
    with (
        mock.patch.object(bodies, "os", _System(failing)),
        mock.patch.object(filesystem, "os", _System(failing)),
        mock.patch.object(filesystem, "open", _failing(failing, open, errno.EMFILE), create=True),
        mock.patch.object(bodies, "make_directories", make_directories),
    ):
        yield


@contextmanager
def points(failing: Failing) -> Iterator[None]:
    """The process goes on after the failure: what is cleaned up is cleaned up."""

    def point(name: str) -> None:
        if failing.is_due():
            raise faults.InjectedFault(name)

    with mock.patch.object(faults, "point", point):
        yield


def _failing(failing: Failing, call: Callable[..., Any], number: int) -> Callable[..., Any]:
    def called(*arguments: Any, **named: Any) -> Any:
        if failing.is_due():
            raise OSError(number, os.strerror(number))
        return call(*arguments, **named)

    return called


class _System:
    """The module `os`, some calls of which fail when it is their turn."""

    def __init__(self, failing: Failing) -> None:
        self._failing = failing
        self.open = _failing(failing, os.open, errno.EMFILE)
        self.fsync = _failing(failing, os.fsync, errno.EIO)
        self.replace = _failing(failing, os.replace, errno.EROFS)
        self.remove = _failing(failing, os.remove, errno.EROFS)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def fdopen(self, *arguments: Any) -> "_File":
        return _File(os.fdopen(*arguments), self._failing)


class _File:
    """A file whose write stops half way when the disk is full."""

    def __init__(self, file: BinaryIO, failing: Failing) -> None:
        self._file = file
        self._failing = failing

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> int:
        if self._failing.is_due():
            self._file.write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
