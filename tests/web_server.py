"""The ASGI application on a real socket, in a thread of the test process."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvicorn


@contextmanager
def serving() -> Iterator[str]:
    """The address of a running server, such as http://127.0.0.1:40123."""
    from holamem.asgi import application

    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, lifespan="off", log_config=None)  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=20)
        listener.close()


@pytest.fixture(scope="session")
def web_url(django_db_setup: None) -> Iterator[str]:
    with serving() as url:
        yield url
