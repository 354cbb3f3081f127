"""A real server with real pages, and the system's Chromium."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from playwright.sync_api import Browser, sync_playwright

from tests.browser.watching import Watch
from tests.dashboard.memory import Filled, fill_workspace
from tests.dashboard.people import make_person

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
START_SECONDS = 20


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="Chromium is not installed"))


@pytest.fixture(scope="session")
def filled(django_db_setup: None) -> Filled:
    return fill_workspace()


@pytest.fixture(scope="session")
def site(django_db_setup: None) -> Iterator[str]:
    """The address of a server in a thread of its own, on a free port."""
    from holamem.asgi import application  # looks at the database's schema at once

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = uvicorn.Config(application, port=port, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + START_SECONDS
    while not server.started and time.monotonic() < deadline:
        thread.join(0.05)
    assert server.started, "the server did not start"
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(START_SECONDS)


@pytest.fixture(scope="module")
def username(filled: Filled) -> str:
    return make_person(filled.tenant).username


@pytest.fixture(scope="module")
def chromium(filled: Filled, username: str, site: str) -> Iterator[Browser]:
    """Started after all database work and stopped with the module: its event loop in this
    thread would make Django refuse queries.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def watch(site: str) -> Watch:
    return Watch(site)
