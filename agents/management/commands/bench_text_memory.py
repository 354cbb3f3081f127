"""`manage.py bench_text_memory`: tokens of prompts, with text memory and with all of it in each."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from agents.bench.text_memory import play_week


class Command(BaseCommand):
    help = (
        "Play a week of sessions and count the tokens of memory in their prompts: the index with"
        " topics on demand, and every topic in each prompt. Needs no database and no model."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sessions", type=int, default=200)
        parser.add_argument("--turns", type=int, default=4, help="of each session")

    def handle(self, *args: Any, **options: Any) -> None:
        cost = play_week(sessions=options["sessions"], turns=options["turns"])
        self.stdout.write(
            f"{cost.sessions} sessions, {cost.requests} requests of a model\n"
            f"index in each        {cost.index:>12,} tokens\n"
            f"topics on demand     {cost.read:>12,} tokens\n"
            f"everything in each   {cost.everything:>12,} tokens\n"
            f"share                {cost.share:>12.1%}\n"
            f"facts reached        {cost.reached:>7} of {cost.asked}"
        )
