"""`manage.py runner`: execute the runs of agents until SIGTERM or Ctrl-C."""

import os
import signal
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from agents.runner.process import Runner

THREADS = 8


class Command(BaseCommand):
    help = "Execute the runs of agents until told to stop."
    requires_system_checks: list[str] = []  # they load every page, which costs memory here

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--threads", type=int, default=THREADS, choices=range(1, 257), metavar="1..256",
            help="runs at once",
        )  # fmt: skip

    def handle(self, *args: Any, threads: int, **options: Any) -> None:
        runner = Runner(threads=threads)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: runner.stop())
        runner.run()
        # Threads that are inside of a call cannot be stopped, and nothing they compute is kept.
        sys.stdout.flush()
        os._exit(0)
