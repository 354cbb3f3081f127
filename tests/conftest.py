"""One embedded server for the whole run, one database for each process, real commits.

Nothing is rolled back or flushed between tests: each makes a tenant of its own.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from holamem.clock import now
from holamem.database.config import database_settings
from holamem.database.embedded import EmbeddedServer
from holamem.database.process import exclusive_lock
from holamem.database.scope import system_scope
from holamem.environment import get_environment
from holamem.providers.embed_local import LocalEmbedder
from holamem.providers.vectors import Vector
from tests.web_server import web_url  # noqa: F401 - a fixture of every folder
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Tenant, Workspace

DATA_DIR_VARIABLE = "HOLAMEM_TEST_DATA_DIR"
TEMPLATE = "migrated"
# Losing the last commits in a crash of the test machine does not matter.
SERVER_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "lock_timeout": "60s",  # two that wait for each other fail, and do not hang the run
}
# Folders whose tests never touch the database: they run without waiting for a server.
PURE = (
    "tests/holamem/text",
    "tests/holamem/providers",
    "tests/holamem/sample",
    "tests/client/test_chats",
    "tests/client/test_retries",
    "tests/workspaces/judging",
)


def pytest_configure(config: pytest.Config) -> None:
    if not _is_worker(config):
        os.environ[DATA_DIR_VARIABLE] = tempfile.mkdtemp(prefix="holamem-tests-")
        _data_dir().chmod(0o711)  # the server may run as another user, who passes through here
        if getattr(config.option, "numprocesses", None):
            _server().attach_or_start(with_parent=True)
            config.stash[_TEMPLATE_MAKER] = _start_template_maker()
    _isolate_settings(_data_dir())


def pytest_unconfigure(config: pytest.Config) -> None:
    if not _is_worker(config) and DATA_DIR_VARIABLE in os.environ:
        if _TEMPLATE_MAKER in config.stash:
            config.stash[_TEMPLATE_MAKER].wait()
        _server().stop()
        shutil.rmtree(os.environ.pop(DATA_DIR_VARIABLE), ignore_errors=True)


_TEMPLATE_MAKER = pytest.StashKey["subprocess.Popen[bytes]"]()
_MAKE_TEMPLATE = (
    "import django; django.setup(); from tests.conftest import make_template; make_template()"
)


def _start_template_maker() -> "subprocess.Popen[bytes]":
    """Migrates while the workers collect, and unmeasured."""
    return subprocess.Popen(
        [sys.executable, "-c", _MAKE_TEMPLATE],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "holamem.settings"},
    )


def make_template() -> None:
    """A migrated database, once; whoever comes later waits for it."""
    _isolate_settings(_data_dir())
    _ensure_template(_server())
    connections.close_all()


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _data_dir() -> Path:
    return Path(os.environ[DATA_DIR_VARIABLE])


def _server() -> EmbeddedServer:
    return EmbeddedServer(_data_dir(), settings=SERVER_SETTINGS)


def _isolate_settings(data_dir: Path) -> None:
    """Forget the developer's own environment; settings are loaded before this file is."""
    for name in list(os.environ):
        if name.startswith(("HOLAMEM_", "OPENAI_")) and name not in _KEPT_VARIABLES:
            del os.environ[name]
    os.environ["HOLAMEM_DATA_DIR"] = str(data_dir)
    get_environment.cache_clear()
    environment = get_environment()
    settings.STATIC_ROOT = data_dir / "static"
    settings.STORAGES["bodies"]["OPTIONS"]["location"] = environment.bodies_dir


_KEPT_VARIABLES = {DATA_DIR_VARIABLE, "HOLAMEM_BENCH_DATA"}


@pytest.fixture(scope="session", autouse=True)
def django_db_setup(request: pytest.FixtureRequest, django_db_blocker: object) -> Iterator[None]:
    """The process's database, open to every test of the session, with commits that stay."""
    folders = {
        os.path.relpath(item.path, request.config.rootpath) for item in request.session.items
    }
    if all(folder.startswith(PURE) for folder in folders):
        yield
        return
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        _use_database(_fresh_database(getattr(request.config, "workerinput", {})))
        yield
        connections.close_all()


@pytest.fixture(scope="module", autouse=True)
def _work_of_earlier_modules_is_put_off(
    request: pytest.FixtureRequest, django_db_setup: None
) -> None:
    """A test that runs what is due must not do what hundreds of others have left undone."""
    if os.path.relpath(request.path, request.config.rootpath).startswith(PURE):
        return
    with system_scope():
        Job.objects.filter(state=Job.State.READY).update(next_try_at=now() + timedelta(days=365))


@pytest.fixture(scope="session", autouse=True)
def _passages_are_embedded_once() -> Iterator[None]:
    """The same sentences are remembered in hundreds of tests: the real vectors, computed once."""
    known: dict[str, Vector] = {}
    embed = LocalEmbedder._embed_batch

    def embed_new(embedder: LocalEmbedder, texts: Sequence[str]) -> list[Vector]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, embed(embedder, new) if new else (), strict=True))
        return [known[text] for text in texts]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalEmbedder, "_embed_batch", embed_new)
        yield


@pytest.fixture
def _django_db_helper(django_db_setup: None) -> None:
    """Makes `django_db` marks harmless: no transaction around a test, no flush after it."""


def _fresh_database(workerinput: dict[str, str]) -> str:
    """The URL of a migrated database for this process; the first one migrates for all."""
    server = _server()
    server.attach_or_start(with_parent=True)
    _ensure_template(server)
    with exclusive_lock(_data_dir() / "template.lock"):
        return server.create_database(
            f"test_{workerinput.get('workerid', 'main')}", template=TEMPLATE
        )


def _ensure_template(server: EmbeddedServer) -> None:
    with exclusive_lock(_data_dir() / "template.lock"):
        if not server.has_database(TEMPLATE):
            _migrate(server, "migrating")
            server.rename_database("migrating", TEMPLATE)


def _migrate(server: EmbeddedServer, name: str) -> None:
    server.drop_database(name)
    _use_database(server.create_database(name))
    call_command("migrate", verbosity=0)
    connections.close_all()


def _use_database(url: str) -> None:
    """Point the existing settings, which every thread's connection shares, at this database."""
    connections.close_all()
    entry = database_settings(url)
    connections.settings["default"].update(entry)
    connections["default"].settings_dict.update(entry)
    os.environ["HOLAMEM_DATABASE_URL"] = url
    get_environment.cache_clear()


@pytest.fixture
def tenant() -> Tenant:
    from workspaces.services.tenants import create_tenant

    return create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")


@pytest.fixture
def workspace(tenant: Tenant) -> Workspace:
    from workspaces.services.tenants import create_workspace

    return create_workspace(tenant, slug=f"w-{uuid4().hex}", name="A workspace")
