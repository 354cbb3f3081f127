"""`manage.py rebuild_tree`: all summaries of a tree again, from its active leaves."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from holamem.errors import HolamemError
from workspaces.services.operators import find_workspaces
from workspaces.services.rebuild.trees import rebuild_tree_as_operator

EXIT_REFUSED = 2


class Command(BaseCommand):
    help = (
        "Queue the rebuild of one tree: each summary is written again from the bottom up and"
        " stays readable until the new one is there; search entries are put anew."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("key", help="such as interaction:alice")
        parser.add_argument("--tenant", required=True, help="slug")
        parser.add_argument("--workspace", required=True, help="slug")
        parser.add_argument("--user-id", help="whose tree it is; without it the shared one")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = find_workspaces(tenant=options["tenant"], slug=options["workspace"])[0]
            queued = rebuild_tree_as_operator(
                workspace, key=options["key"], user_ref=options["user_id"]
            )
        except HolamemError as error:
            raise CommandError(error.message, returncode=EXIT_REFUSED) from error
        if options["as_json"]:
            self.stdout.write(json.dumps({**asdict(queued)}, default=str))
        else:
            self.stdout.write(f"{queued.summaries} summaries of {options['key']} are queued.")
