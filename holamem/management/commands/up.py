"""`manage.py up`: everything on this machine until Ctrl-C."""

import json
import logging
import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, NoReturn

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from holamem.database.layout import EmbeddedDatabaseError
from holamem.environment import get_environment
from holamem.supervisor.installation import FirstCredentials
from holamem.supervisor.parts import PartDied
from holamem.supervisor.run import CannotStart, Machine, running_machine
from holamem.supervisor.sample import fill_with_sample, show_sample_questions
from holamem.supervisor.signals import StopRequested, StopSignals
from holamem.supervisor.watching import Watcher

LANGUAGES: dict[str, tuple[str, ...]] = {
    "none": (),
    "en": ("en",),
    "zh": ("zh",),
    "both": ("en", "zh"),
}


class Command(BaseCommand):
    help = "Start the database, the worker and the web server, and stop them together."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        environment = get_environment()
        parser.add_argument("--data-dir", type=Path, default=environment.data_dir)
        parser.add_argument("--port", type=_port, default=environment.port)
        parser.add_argument("--sample", choices=sorted(LANGUAGES), default="both")
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="print one line when ready"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        logging.getLogger("httpx2").setLevel(logging.WARNING)  # one line a request of the sample
        signals = StopSignals()
        with signals.installed():
            try:
                self._run(signals, **options)
            except StopRequested:
                _leave_at_once()
            except (CannotStart, PartDied, EmbeddedDatabaseError, ImproperlyConfigured) as error:
                raise CommandError(str(error)) from error

    def _run(
        self,
        signals: StopSignals,
        *,
        data_dir: Path,
        port: int,
        sample: str,
        as_json: bool,
        **_: Any,
    ) -> None:
        languages = LANGUAGES[sample]
        with running_machine(data_dir.resolve(), port=port, signals=signals, say=self._say) as (
            machine,
            credentials,
        ):
            watcher = Watcher(machine, say=self._say)
            loaded = fill_with_sample(watcher, credentials, languages=languages)
            if as_json:
                self._print_line(machine, credentials)
            else:
                self._print_for_people(machine, credentials)
                if loaded:
                    show_sample_questions(watcher, credentials, languages=languages)
            watcher.forever()

    def _say(self, text: str) -> None:
        """Progress is no result: standard output stays clean for `--json`."""
        print(text, file=sys.stderr, flush=True)

    def _print_line(self, machine: Machine, credentials: FirstCredentials) -> None:
        line = {
            "url": machine.url,
            "api_key": credentials.api_key,
            "workspace": credentials.workspace,
            "admin_user": credentials.admin_user,
            "admin_password": credentials.admin_password,
            "pid": machine.pid,
        }
        print(json.dumps(line), flush=True)

    def _print_for_people(self, machine: Machine, credentials: FirstCredentials) -> None:
        print(
            f"\nholamem runs at {machine.url}/ (Ctrl-C stops it)\n"
            f"  sign-in    {credentials.admin_user} / {credentials.admin_password}\n"
            f"  API key    {credentials.api_key}\n"
            f"  workspace  {credentials.workspace}\n"
            f"  data       {machine.data_dir}\n",
            flush=True,
        )


def _leave_at_once() -> NoReturn:
    """All is stopped and closed: freeing the loaded dictionaries took seconds on a busy machine."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65535:
        raise ValueError
    return port
