"""A database and a data directory for one measurement, which runs in a process of its own.

No worker and no web server run beside it: the measured process is the one worker.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from holamem.database.embedded import EmbeddedServer
from holamem.environment import PROJECT_DIR
from retrieval.bench.measures import Measure, from_json
from retrieval.bench.server import DidNotStart, temporary_data_dir

# Offline rules and the packaged model, whatever the caller has set.
_FIXED = {
    "HOLAMEM_PROCESS": "worker",
    "HOLAMEM_CHAT_MODEL": "",
    "HOLAMEM_EMBEDDING": "local",
    "HOLAMEM_LOG_LEVEL": "ERROR",
}


def measure_alone(arguments: Sequence[str]) -> list[Measure]:
    """`manage.py bench` with these arguments on a new, migrated database. Raises DidNotStart."""
    with temporary_data_dir() as data_dir:
        server = EmbeddedServer(data_dir)
        handle = server.attach_or_start(with_parent=True)
        environment = {
            **os.environ,
            **_FIXED,
            "HOLAMEM_DATA_DIR": str(data_dir),
            "HOLAMEM_DATABASE_URL": handle.url,
        }
        try:
            _manage(["migrate", "--verbosity", "0"], environment=environment)
            shown = _manage(["bench", *arguments, "--inside"], environment=environment)
        finally:
            server.stop()
    return from_json(json.loads(shown))


def _manage(arguments: Sequence[str], *, environment: dict[str, str]) -> str:
    command = [sys.executable, str(PROJECT_DIR / "manage.py"), *arguments]
    result = subprocess.run(  # noqa: S603 - our own command
        command,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    if result.returncode:
        raise DidNotStart(result.stderr[-2000:])
    return result.stdout
