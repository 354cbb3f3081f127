"""Installations of their own beside that of the test run: a database and a data directory."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.db import connections
from django.test import override_settings

from holamem.database.embedded import EmbeddedServer
from holamem.environment import PROJECT_DIR
from holamem.supervisor.installation import use_database
from tests.conftest import DATA_DIR_VARIABLE, TEMPLATE
from workspaces.index.embedding import current_model

COMMAND_SECONDS = 240


@dataclass(frozen=True, slots=True)
class Installation:
    url: str
    data_dir: Path

    @property
    def bodies(self) -> Path:
        return self.data_dir / "bodies"

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """This process works on it, as if it had been started there."""
        before = os.environ["HOLAMEM_DATABASE_URL"]
        bodies = {**settings.STORAGES["bodies"], "OPTIONS": {"location": self.bodies}}
        try:
            _switch(self.url)
            with override_settings(STORAGES={**settings.STORAGES, "bodies": bodies}):
                yield
        finally:
            _switch(before)

    def command(self, *arguments: str, fault: str = "") -> "subprocess.CompletedProcess[str]":
        """`manage.py` with these arguments, in a process of its own."""
        environment = {
            **os.environ,
            "HOLAMEM_DATABASE_URL": self.url,
            "HOLAMEM_DATA_DIR": str(self.data_dir),
            "HOLAMEM_FAULT": fault,
        }
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=PROJECT_DIR,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )


def _switch(url: str) -> None:
    use_database(url)
    current_model.cache_clear()


def new_installation(folder: Path, *, template: str = TEMPLATE) -> Installation:
    """Migrated and empty; with another `template`, a copy of that database or an empty one."""
    name = f"own_{uuid4().hex}"
    connections.close_all()  # a database with connections is no template
    server = EmbeddedServer(Path(os.environ[DATA_DIR_VARIABLE]))
    data_dir = folder / name
    data_dir.mkdir()
    return Installation(server.create_database(name, template=template), data_dir)
