"""`manage.py bench_streams`: measure streams of events on this machine, with a server of its own."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.bench.streams import Plan, measure_streams
from retrieval.bench.measures import as_json, as_table
from retrieval.bench.server import DidNotStart, own_server


class Command(BaseCommand):
    help = "Measure how soon many clients hear of an event, and how fast a session is replayed."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--streams", type=int, default=200)
        parser.add_argument("--seconds", type=float, default=20)
        parser.add_argument("--per-second", type=float, default=10)
        parser.add_argument("--replayed", type=int, default=10_000)
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        names = ("streams", "seconds", "per_second", "replayed")
        plan = Plan(**{name: options[name] for name in names})
        try:
            with own_server(sample="none") as target:
                measures = measure_streams(target, plan=plan)
        except DidNotStart as error:
            raise CommandError(f"The server did not start.\n{error}") from error
        shown = json.dumps(as_json(measures)) if options["as_json"] else as_table(measures)
        self.stdout.write(shown)
