"""`manage.py replay_erasures`: erase again what a restored backup brought back."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from holamem.errors import NotFound
from workspaces.services.erasure.journal import replay_erasures
from workspaces.services.operators import find_workspaces


class Command(BaseCommand):
    help = "Erase again what the erasures recorded beside the bodies name. May be run again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant")
        parser.add_argument("--workspace")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspaces = find_workspaces(tenant=options["tenant"], slug=options["workspace"])
            total = sum(replay_erasures(workspace) for workspace in workspaces)
        except (NotFound, ValueError) as error:
            raise CommandError(str(error)) from error
        if options["as_json"]:
            self.stdout.write(json.dumps({"workspaces": len(workspaces), "erasures": total}))
        else:
            self.stdout.write(f"{total} erasures had something left; a worker removes the files.")
